// The patches that a convolution multiplies with its weights, gathered while a panel is packed.
//
// A row of the patch matrix is a (tap, channel), numbered k = tap * channels + channel; a column is
// a pixel of the part, numbered by (n, d, h, w). Nothing of that matrix exists but the panel in
// hand. Pixels outside of the source read as 0. L is lanes<T> throughout.
#pragma once
#include "core/kernels/conv.h"
#include "cpu/gemm_tile.h"

namespace tt::cpu {
namespace {

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

// Of pixels at + i * step, i in [0, count), those inside of [0, size): i in [low, high).
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

// to[c * Width + lane] = (or joined to what other pieces gave) the piece's lanes of channel c.
template <class T, int Width, int Along>
void gather_lanes(const T* from, int64_t channel, int64_t count, Mask<T> mask, bool join, T* to) {
  for (int64_t c = 0; c < count; ++c) {
    Vec<T> x = masked<T>(load_along<T, Along>(from + c * channel), mask);
    if (join) x = x + load(to + c * Width);
    store(to + c * Width, x);
  }
}

// L pixels of one tap, `count` channels: a vector for each.
template <class T, int Width>
void gather_tap(const ConvSum& g, const Piece* pieces, int piece_count, int64_t first_channel,
                int64_t count, T* to) {
  constexpr int n = lanes<T>;
  const T* source = static_cast<const T*>(g.source);
  const int64_t channel = g.source_strides[1], along = g.step[2] * g.source_strides[4];
  if (piece_count == 0) {
    for (int64_t c = 0; c < count; ++c) store(to + c * Width, Vec<T>{});
  }
  for (int i = 0; i < piece_count; ++i) {
    const Piece& piece = pieces[i];
    const int64_t offset = piece.offset + first_channel * channel;
    const int64_t behind = offset + (count - 1) * channel + n * along;
    const bool readable = offset >= 0 && behind <= g.source_extent;
    if (along <= 2 && along > 0 && readable) {
      const Mask<T> mask = lanes_between<T>(piece.low, piece.high);
      const auto gather = along == 1 ? gather_lanes<T, Width, 1> : gather_lanes<T, Width, 2>;
      gather(source + offset, channel, count, mask, i > 0, to);
      continue;
    }
    for (int64_t c = 0; c < count; ++c) {
      if (i == 0) store(to + c * Width, Vec<T>{});
      for (int64_t lane = piece.low; lane < piece.high; ++lane) {
        to[c * Width + lane] = element(source + offset + c * channel + lane * along);
      }
    }
  }
}

// Calls visit(tap, first channel, channels, place) for every tap that has rows in [k, k + depth) of
// the patch matrix; `place` counts from k.
template <class Visit>
void for_each_tap(int64_t channels, int64_t k, int64_t depth, const Visit& visit) {
  for (int64_t place = 0; place < depth;) {
    const int64_t tap = (k + place) / channels, first = (k + place) % channels;
    const int64_t count = smaller(channels - first, depth - place);
    visit(tap, first, count, place);
    place += count;
  }
}

// Pixels as columns: rows [k, k + depth) of the patch matrix, columns [j, j + kCols).
template <class T>
void gather_columns(const ConvSum& g, const ConvPart& part, int64_t first_channel, int64_t j,
                    int64_t columns, int64_t k, int64_t depth, T* panel) {
  constexpr int n = lanes<T>;
  Run runs[2][n];
  int run_count[2];
  for (int v = 0; v < 2; ++v) {
    const int64_t count = smaller(n, columns - v * n);
    run_count[v] = count > 0 ? find_runs(part.size, j + v * n, count, runs[v]) : 0;
  }
  for_each_tap(g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t count, int64_t at) {
    for (int v = 0; v < 2; ++v) {
      Piece pieces[n];
      const int found = find_pieces(g, part.taps[tap].shift, runs[v], run_count[v], pieces);
      gather_tap<T, kCols<T>>(g, pieces, found, first_channel + channel, count,
                              panel + at * kCols<T> + v * n);
    }
  });
}

// Pixels as rows: panel[i * depth_stride + q] = row k + q of column j + i, for i < count.
template <class T>
void gather_rows(const ConvSum& g, const ConvPart& part, int64_t first_channel, int64_t j,
                 int64_t count, int64_t k, int64_t depth, T* panel, int64_t panel_row) {
  const T* source = static_cast<const T*>(g.source);
  const int64_t* strides = g.source_strides;
  Run runs[kRows];
  const int run_count = find_runs(part.size, j, count, runs);
  for_each_tap(g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t size, int64_t at) {
    const int64_t* shift = part.taps[tap].shift;
    for (int r = 0; r < run_count; ++r) {
      const Run& run = runs[r];
      const int64_t d = run.p[0] * g.step[0] + shift[0], h = run.p[1] * g.step[1] + shift[1];
      const bool row_inside = inside(d, g.source_size[0]) && inside(h, g.source_size[1]);
      for (int64_t i = 0; i < run.length; ++i) {
        const int64_t w = (run.p[2] + i) * g.step[2] + shift[2];
        T* to = panel + (run.lane + i) * panel_row + at;
        if (!row_inside || !inside(w, g.source_size[2])) {
          for (int64_t c = 0; c < size; ++c) to[c] = 0;
          continue;
        }
        const T* from = source + run.n * strides[0] + (first_channel + channel) * strides[1] +
                        d * strides[2] + h * strides[3] + w * strides[4];
        if (strides[1] == 1) {
          __builtin_memcpy(to, from, size_t(size) * sizeof(T));
        } else {
          for (int64_t c = 0; c < size; ++c) to[c] = element(from + c * strides[1]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace tt::cpu
