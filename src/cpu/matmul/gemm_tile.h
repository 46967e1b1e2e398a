// What matrix products are made of: transposed blocks, packed panels, the register tile.
//
// A panel holds a strip of a matrix, `Width` entries across and `depth` along the summed dimension,
// entry (p, j) at panel[p * Width + j]: the register tile reads it from front to back, whatever
// the strides of the matrix were. L is lanes<T> throughout.
#pragma once
#include <cstdint>
#include <utility>

#include "cpu/infra/tasks.h"
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

// The register tile: kRows x 2 vectors of sums; two vectors of B and an element of A take what is
// left of 16 registers, 32 in AVX-512.
constexpr int kRows = TT_VECTOR_BYTES == 64 ? 12 : 6;
template <class T>
constexpr int kCols = 2 * lanes<T>;

// Products of convolutions are summed in blocks of this many along k; a panel of A of this depth
// fits the L1 cache.
constexpr int64_t kDepth = 384;

// The depth of blocks along k of matrix products: equal but for rounding, because the error of a
// sum grows with the square of the longest block's length, and such that panels of A and B fit the
// L1 cache together.
template <class T>
constexpr int64_t kDeepest = sizeof(T) == 8 ? 192 : 256;
template <class T>
int64_t block_depth(int64_t k) {
  return k == 0 ? 1 : round_up(blocks(k, blocks(k, kDeepest<T>)), 16);
}

// Lane E of the result is lane E of a (High: of b) where E has bit Step clear (set), else the lane
// of the other operand that stands Step before (behind) it.
template <class T, int Step, bool High, int... E>
inline Vec<T> exchange(const Vec<T>& a, const Vec<T>& b, std::integer_sequence<int, E...>) {
  constexpr int n = lanes<T>;
  return __builtin_shufflevector(
      a, b, (High ? ((E & Step) ? n + E : E + Step) : ((E & Step) ? n + E - Step : E))...);
}

// Transposes L x L elements: blocks of L/2 x L/2 change places, then the blocks inside each.
template <class T, int Step = lanes<T> / 2>
inline void transpose(Vec<T>* x) {
  using All = std::make_integer_sequence<int, lanes<T>>;
#pragma GCC unroll 16
  for (int i = 0; i < lanes<T>; ++i) {
    if ((i & Step) == 0) {
      const Vec<T> a = x[i], b = x[i + Step];
      x[i] = exchange<T, Step, false>(a, b, All());
      x[i + Step] = exchange<T, Step, true>(a, b, All());
    }
  }
  if constexpr (Step > 1) transpose<T, Step / 2>(x);
}

// One element of A, B or the bias, which need not be aligned.
template <class T>
inline T element(const T* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// L elements `stride` apart, of which only `used` count; the others are anything. `readable`
// elements of memory may be read. S is T, or a half.
template <class T, class S>
inline Vec<T> load_some(const S* from, int64_t stride, int64_t used, int64_t readable) {
  if (stride == 1 && readable >= lanes<T>) return Whole<T>().load(from);
  S copy[lanes<T>] = {};
  for (int64_t i = 0; i < smaller(used, lanes<T>); ++i) copy[i] = element(from + i * stride);
  return Whole<T>().load(copy);
}

// Packs (depth, Width) entries, source[p * along + j * across], of which only `used` exist across;
// `readable` elements may be read from `source` on. The entries that do not exist hold anything,
// and so may kCols elements behind the panel.
template <class T, int Width>
void pack(T* panel, const T* source, int64_t along, int64_t across, int64_t depth, int64_t used,
          int64_t readable) {
  constexpr int n = lanes<T>;
  // Groups of L entries across, the last first: what it writes too much, the next overwrites.
  for (int first = (Width - 1) / n * n; first >= 0; first -= n) {
    T* to = panel + first;
    const T* from = source + first * across;
    const int64_t left = readable - first * across;
    const int64_t count = smaller(smaller(n, Width - first), used - first);
    if (count <= 0) {
      for (int64_t p = 0; p < depth; ++p) store(to + p * Width, Vec<T>{});
    } else if (across == 1) {
      for (int64_t p = 0; p < depth; ++p) {
        store(to + p * Width, load_some<T>(from + p * along, 1, count, left - p * along));
      }
    } else {
      const int64_t whole = along == 1 ? depth / n * n : 0;
      for (int64_t p = 0; p < whole; p += n) {
        Vec<T> block[n];
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) block[j] = load(from + p + (j < count ? j : 0) * across);
        transpose<T>(block);
#pragma GCC unroll 16
        for (int r = 0; r < n; ++r) store(to + (p + r) * Width, block[r]);
      }
      for (int64_t p = whole; p < depth; ++p) {
        for (int j = 0; j < n && first + j < Width; ++j) {
          to[p * Width + j] = j < count ? element(from + p * along + j * across) : T(0);
        }
      }
    }
  }
}

// Calls body(constant of rows, i) for tiles that cover rows [begin, end): they have kRows rows, the
// last one what fits the rest.
template <class Body>
inline void for_tiles(int64_t begin, int64_t end, const Body& body) {
  for (int64_t i = begin; i < end; i += kRows) {
    const int64_t rows = end - i;
    if (rows > kRows * 2 / 3) {
      body(std::integral_constant<int, kRows>(), i);
    } else if (rows > kRows / 3) {
      body(std::integral_constant<int, kRows * 2 / 3>(), i);
    } else {
      body(std::integral_constant<int, kRows / 3>(), i);
    }
  }
}

// What function_of(constant) answers for the first of the heights that is at most `rows`, which is
// what is taken of them. The last height is 1.
template <int Height, int... Rest, class F>
auto choose_height(int64_t rows, int64_t* taken, const F& function_of) {
  if constexpr (sizeof...(Rest) > 0)
    if (rows < Height) return choose_height<Rest...>(rows, taken, function_of);
  *taken = Height;
  return function_of(std::integral_constant<int, Height>());
}

// sum += x * y. In files that define TT_PAIRS what is a float otherwise is a pair of bfloat16,
// whose two products are added: only sums are floats there.
template <class T>
inline void add_product(Vec<T>& sum, T x, const Vec<T>& y) {
#ifdef TT_PAIRS
  static_assert(sizeof(T) == 4);
  sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_ps(x)),
                         reinterpret_cast<__m512bh>(y));
#else
  sum += x * y;
#endif
}

// sum (Rows, Vectors * L) += a (Rows, depth) @ b (depth, Vectors * L), whose rows lie b_row apart;
// `a` has any strides. Three rows of it share an address, because there are not registers enough
// for twelve.
template <class T, int Rows, int Ahead = 0, int Vectors>
inline void add_products(Vec<T> (&sum)[Rows][Vectors], const T* a, int64_t a_row, int64_t a_col,
                         const T* b, int64_t depth, int64_t b_row = kCols<T>) {
  constexpr int n = lanes<T>, groups = (Rows + 2) / 3;
  const T* rows[groups];
#pragma GCC unroll 4
  for (int i = 0; i < groups; ++i) rows[i] = a + 3 * i * a_row;
#pragma GCC unroll 4
  for (int64_t p = 0; p < depth; ++p) {
    Vec<T> y[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      y[v] = load(b + v * n);
      if (Ahead) __builtin_prefetch(b + Ahead * b_row + v * n);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const T x = element(rows[r / 3] + r % 3 * a_row);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) add_product<T>(sum[r][v], x, y[v]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < groups; ++i) rows[i] += a_col;
    b += b_row;
  }
}

}  // namespace
}  // namespace tt::cpu
