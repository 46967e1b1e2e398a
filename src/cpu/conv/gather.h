// What the files of convolutions share: pixels that follow one another, which of them a tap sees
// inside of the source, and vectors of which some lanes count. L is lanes<T> throughout.
#pragma once
#include "core/tables/conv.h"
#include "cpu/matmul/gemm_tile.h"
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

inline int64_t pixels_of(const ConvPart& part) {
  return part.size[0] * part.size[1] * part.size[2];
}

inline int workers_for(const ConvSum& g) {
  double work = 0;
  for (int64_t i = 0; i < g.part_count; ++i) {
    work += double(pixels_of(g.parts[i])) * double(g.parts[i].tap_count);
  }
  work *= double(g.batch * g.groups * g.rows * g.channels);
  return work > kParallelWork ? num_threads() : 1;
}

// Pixels that follow one another along w, at places [lane, lane + length) of a strip.
struct Run {
  int64_t lane, length, n, p[3];
};

// Cuts the strip of `count` pixels from `first` on into runs; answers how many.
inline int find_runs(const int64_t* size, int64_t first, int64_t count, Run* runs) {
  int64_t w = first % size[2], rest = first / size[2];
  int64_t h = rest % size[1];
  rest /= size[1];
  int64_t d = rest % size[0], n = rest / size[0];
  int found = 0;
  for (int64_t lane = 0; lane < count;) {
    const int64_t length = smaller(count - lane, size[2] - w);
    runs[found++] = {lane, length, n, {d, h, w}};
    lane += length;
    w = 0;
    if (++h == size[1]) {
      h = 0;
      if (++d == size[0]) {
        d = 0;
        ++n;
      }
    }
  }
  return found;
}

inline bool inside(int64_t at, int64_t size) { return uint64_t(at) < uint64_t(size); }

// The pixels at + i * step, i in [0, count), that lie inside of [0, size): i in [low, high).
struct Span {
  int64_t low, high;
};
inline Span inside_span(int64_t at, int64_t step, int64_t count, int64_t size) {
  if (step == 1) return {at < 0 ? -at : 0, smaller(count, size - at)};
  const int64_t left = size - at;
  return {at < 0 ? (step - 1 - at) / step : 0,
          left <= 0 ? 0 : smaller(count, (left + step - 1) / step)};
}

// What a tap sees of a run: place i in [low, high) of the strip shows source[offset + i * along],
// `along` being the distance of neighbours in the source.
struct Piece {
  int64_t offset, low, high;
};

inline int find_pieces(const ConvSum& g, const int64_t* shift, const Run* runs, int run_count,
                       Piece* pieces) {
  const int64_t* strides = g.source_strides;
  int found = 0;
  for (int i = 0; i < run_count; ++i) {
    const Run& run = runs[i];
    const int64_t d = run.p[0] * g.step[0] + shift[0], h = run.p[1] * g.step[1] + shift[1];
    if (!inside(d, g.source_size[0]) || !inside(h, g.source_size[1])) continue;
    const int64_t w = run.p[2] * g.step[2] + shift[2];
    const Span span = inside_span(w, g.step[2], run.length, g.source_size[2]);
    if (span.low >= span.high) continue;
    pieces[found++] = {run.n * strides[0] + d * strides[2] + h * strides[3] +
                           (w - run.lane * g.step[2]) * strides[4],
                       run.lane + span.low, run.lane + span.high};
  }
  return found;
}

// All bits of lanes [low, high), none of the others.
template <class T>
inline Mask<T> lanes_between(int64_t low, int64_t high) {
  Mask<T> lane{};
  for (int i = 0; i < lanes<T>; ++i) lane[i] = i;
  using Int = decltype(lane[0] + 0);
  return (lane >= static_cast<Int>(low)) & (lane < static_cast<Int>(high));
}

template <class T>
inline Vec<T> masked(Vec<T> x, Mask<T> mask) {
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(x) & mask);
}

template <class T>
inline Vec<T> joined(Vec<T> x, Vec<T> y) {
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(x) | reinterpret_cast<Mask<T>>(y));
}

// Elements 0, 2, 4, ... of 2 L.
template <class T, int... E>
inline Vec<T> even_lanes(const T* from, std::integer_sequence<int, E...>) {
  return __builtin_shufflevector(load(from), load(from + lanes<T>), (2 * E)...);
}

// L elements, `Along` apart.
template <class T, int Along>
inline Vec<T> load_along(const T* from) {
  if constexpr (Along == 1)
    return load(from);
  else
    return even_lanes<T>(from, std::make_integer_sequence<int, lanes<T>>());
}

// Even lanes to memory; what lies between stays as it is.
template <class T>
inline void store_even_lanes(T* to, Vec<T> x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(to, 0x5555, reinterpret_cast<__m512>(x));
  else
    _mm512_mask_storeu_pd(to, 0x55, reinterpret_cast<__m512d>(x));
#else
  for (int i = 0; i < lanes<T>; i += 2) to[i] = x[i];
#endif
}

// L/2 elements, each of them twice.
template <class T, int... E>
inline Vec<T> load_twice(const T* from, std::integer_sequence<int, E...>) {
  typename VecOf<T, kVectorBytes / 2>::type x;
  __builtin_memcpy(&x, from, sizeof x);
  return __builtin_shufflevector(x, x, (E / 2)...);
}

// Channel C of every group of `Group` channels, in all of its lanes.
template <class T, int Group, int C, int... E>
inline Vec<T> spread(const Vec<T>& x, std::integer_sequence<int, E...>) {
  return __builtin_shufflevector(x, x, (E / Group * Group + C)...);
}

// As add_products; of the first L columns of the panel alone, if no more count.
template <class T, int Rows>
inline void add_columns(Vec<T> (&sum)[Rows][2], const T* a, int64_t a_row, int64_t a_col,
                        const T* b, int64_t depth, int64_t columns) {
  if (columns > lanes<T>) return add_products<T, Rows>(sum, a, a_row, a_col, b, depth);
  Vec<T> half[Rows][1];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) half[r][0] = sum[r][0];
  add_products<T, Rows>(half, a, a_row, a_col, b, depth);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) sum[r][0] = half[r][0];
}

}  // namespace
}  // namespace tt::cpu
