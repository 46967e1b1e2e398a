// The fast form of a matrix product whose C is neither a row nor a column: register tiles of C, for
// a part of C and a block of k at a time.
//
// A tile reads its rows of A and its columns of B in place where they lie in order of memory (A
// along k, B along its rows), and from packed panels where not. The first row of tiles to meet a
// strip of B leaves a panel of it for the rows below. L is lanes<T> throughout.
#pragma once
#include "cpu/gemm_tile.h"
#include "cpu/tasks.h"

namespace tt::cpu {
namespace {

// The depth of blocks along k: equal but for rounding, because the error of a sum grows with the
// square of the longest block's length, and such that panels of A and B fit the L1 cache together.
template <class T>
constexpr int64_t kDeepest = sizeof(T) == 8 ? 192 : 256;
template <class T>
int64_t block_depth(int64_t k) {
  return k == 0 ? 1 : round_up(blocks(k, blocks(k, kDeepest<T>)), 16);
}

// Typed, and without batch dims. The bias has strides over both dims so that it can be transposed.
// Products are summed in blocks of `depth` along k.
template <class T>
struct Product {
  int64_t m, n, k, depth;
  const T *a, *b;
  T* c;
  const T* bias;
  int64_t a_row, a_col, b_row, b_col, c_row, c_col, bias_row, bias_col;
  bool accumulate;
};

// C^T = B^T @ A^T.
template <class T>
Product<T> transposed(const Product<T>& g) {
  return {g.n,     g.m,     g.k,     g.depth, g.b,     g.a,        g.c,        g.bias,      g.b_col,
          g.b_row, g.a_col, g.a_row, g.c_col, g.c_row, g.bias_col, g.bias_row, g.accumulate};
}

// How many elements of memory lie between B[p, j] and the end of B: they may be read, if not used.
template <class T>
int64_t readable_b(const Product<T>& g, int64_t p, int64_t j) {
  return (g.k - 1 - p) * g.b_row + (g.n - 1 - j) * g.b_col + 1;
}
template <class T>
int64_t readable_a(const Product<T>& g, int64_t i, int64_t p) {
  return (g.m - 1 - i) * g.a_row + (g.k - 1 - p) * g.a_col + 1;
}

// C[i:, j:] (rows, cols) = or += sums.
template <class T>
void write_sums(const Product<T>& g, const T* sums, int64_t sums_row, int64_t i, int64_t j,
                int64_t rows, int64_t cols, bool add) {
  for (int64_t r = 0; r < rows; ++r) {
    T* c = g.c + (i + r) * g.c_row + j * g.c_col;
    const T* sum = sums + r * sums_row;
    for (int64_t s = 0; s < cols; ++s) c[s * g.c_col] = add ? c[s * g.c_col] + sum[s] : sum[s];
  }
}

template <class T>
void add_bias(const Product<T>& g, int64_t i, int64_t j, int64_t rows, int64_t cols) {
  if (g.c_row == 1 && g.c_col != 1) return add_bias(transposed(g), j, i, cols, rows);
  for (int64_t r = i; r < i + rows; ++r) {
    T* c = g.c + r * g.c_row + j * g.c_col;
    const T* bias = g.bias + r * g.bias_row + j * g.bias_col;
    int64_t s = 0;
    if (g.c_col == 1 && g.bias_col == 1) {
      for (; s + lanes<T> <= cols; s += lanes<T>) store(c + s, load(c + s) + load(bias + s));
    }
    for (; s < cols; ++s) c[s * g.c_col] += element(bias + s * g.bias_col);
  }
}

// ---- One tile. ----------------------------------------------------------------------------------

// Where the rows of A and the strip of B are that a tile multiplies, which has any strides but lies
// along its rows; `keep` receives a panel of it. `soon` is asked for meanwhile, for later tiles: an
// element for each step along k.
template <class T>
struct Operands {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* keep;
  int64_t depth;
  const T* soon;
  int64_t soon_step;
};

// So few rows of C that a panel of B would be used by a single tile.
constexpr int kFew = kRows * 2 / 3;

// How far ahead of its use a strip of B that is read in place is asked for, in rows.
constexpr int64_t kAhead = 12;

// sum (Rows, Vectors * L) = a (Rows, depth) @ b (depth, Vectors * L). Three rows of A share an
// address, because there are not registers enough for twelve.
template <class T, int Rows, int Vectors, bool Keep>
inline void sum_tile(const Operands<T>& x, Vec<T> (&sum)[Rows][Vectors]) {
  constexpr int n = lanes<T>, groups = (Rows + 2) / 3;
  const int64_t a_row = x.a_row, a_col = x.a_col, b_row = x.b_row;
  const T *b = x.b, *rows[groups];
  T* keep = x.keep;
  const T* soon = x.soon;
#pragma GCC unroll 4
  for (int i = 0; i < groups; ++i) rows[i] = x.a + 3 * i * a_row;
  for (int64_t p = x.depth; p > 0; --p) {
    Vec<T> y[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      y[v] = load(b + v * n);
      if (Keep) {
        store(keep + v * n, y[v]);
        __builtin_prefetch(b + kAhead * b_row + v * n);
      } else if (Vectors == 2) {
        __builtin_prefetch(b + 8 * Vectors * n + v * n);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const T a = element(rows[r / 3] + r % 3 * a_row);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] += a * y[v];
    }
#pragma GCC unroll 4
    for (int i = 0; i < groups; ++i) rows[i] += a_col;
    __builtin_prefetch(soon, 0, 2);
    soon += x.soon_step;
    b += b_row;
    keep += Vectors * n;
  }
}

// c (count) = or += sums, for a count below L.
template <class T>
inline void write_some(T* c, const T* sums, int64_t count, bool add) {
#pragma GCC unroll 4
  for (int step = lanes<T> / 2; step > 0; step /= 2) {
    if ((count & step) == 0) continue;
#pragma GCC unroll 8
    for (int s = 0; s < step; ++s) c[s] = add ? c[s] + sums[s] : sums[s];
    c += step;
    sums += step;
  }
}

// A C by columns: sums (Rows, cols) are transposed, L columns at a time.
template <class T, int Rows>
void write_columns(T* c, int64_t c_col, const T* sums, int64_t cols, bool add) {
  constexpr int n = lanes<T>, groups = (Rows + n - 1) / n;
  for (int64_t s = 0; s < cols; s += n) {
    T columns[n][groups * n];
#pragma GCC unroll 4
    for (int first = 0; first < Rows; first += n) {
      Vec<T> block[n];
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r) {
        block[r] = load(sums + (first + r < Rows ? first + r : 0) * kCols<T> + s);
      }
      transpose<T>(block);
#pragma GCC unroll 16
      for (int q = 0; q < n; ++q) store(columns[q] + first, block[q]);
    }
    for (int64_t q = 0; q < smaller(n, cols - s); ++q) {
      T* to = c + (s + q) * c_col;
      if (add) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) to[r] += columns[q][r];
      } else {
        __builtin_memcpy(to, columns[q], Rows * sizeof(T));
      }
    }
  }
}

// C[i:, j:] (rows, cols) = or += sum, all of it or a part.
template <class T, int Rows, int Vectors>
inline void write_tile(const Product<T>& g, const Vec<T> (&sum)[Rows][Vectors], int64_t i,
                       int64_t j, int64_t rows, int64_t cols, bool add) {
  constexpr int n = lanes<T>, width = kCols<T>;
  T* c = g.c + i * g.c_row + j * g.c_col;
  if (g.c_col == 1 && rows == Rows && cols == Vectors * n) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        T* to = c + r * g.c_row + v * n;
        store(to, add ? load(to) + sum[r][v] : sum[r][v]);
      }
    }
    return;
  }
  T sums[Rows * width];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) store(sums + r * width + v * n, sum[r][v]);
  }
  if (g.c_col == 1) {
    for (int64_t r = 0; r < rows; ++r) {
      T *to = c + r * g.c_row, *from = sums + r * width;
      int64_t s = 0;
      for (; s + n <= cols; s += n)
        store(to + s, add ? load(to + s) + load(from + s) : load(from + s));
      write_some(to + s, from + s, cols - s, add);
    }
  } else if (g.c_row == 1 && rows == Rows) {
    write_columns<T, Rows>(c, g.c_col, sums, cols, add);
  } else {
    write_sums(g, sums, width, i, j, rows, cols, add);
  }
}

// C[i:, j:] (rows, cols) = or += what the operands make. (The multiply_tile of gemm_tile.h has both
// operands in panels, and writes whole tiles.)
template <class T, int Rows, int Vectors, bool Keep>
void multiply_tile(const Product<T>& g, const Operands<T>& x, int64_t i, int64_t j, int64_t rows,
                   int64_t cols, bool add) {
  T* c = g.c + i * g.c_row + j * g.c_col;
  if (g.c_col == 1 && x.depth >= 64) {
    for (int64_t r = 0; r < rows; ++r) {
      __builtin_prefetch(c + r * g.c_row, 1);
      __builtin_prefetch(c + r * g.c_row + cols - 1, 1);
    }
  }
  Vec<T> sum[Rows][Vectors] = {};
  sum_tile<T, Rows, Vectors, Keep>(x, sum);
  write_tile(g, sum, i, j, rows, cols, add);
}

// The same for few rows and a B that lies along k: what is transposed is used at once.
template <class T, int Rows>
void multiply_across(const Product<T>& g, const Operands<T>& x, int64_t i, int64_t j, int64_t p,
                     int64_t rows, int64_t cols, bool add) {
  constexpr int n = lanes<T>;
  Vec<T> sum[Rows][1] = {};
  const int64_t last = cols - 1;
  int64_t q = 0;
  for (; q + n <= x.depth; q += n) {
    Vec<T> block[n];
#pragma GCC unroll 16
    for (int s = 0; s < n; ++s) block[s] = load(x.b + q + smaller(s, last) * g.b_col);
    transpose<T>(block);
#pragma GCC unroll 16
    for (int s = 0; s < n; ++s) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        sum[r][0] += element(x.a + r * x.a_row + (q + s) * x.a_col) * block[s];
      }
    }
  }
  T panel[2 * n * n];
  pack<T, n>(panel, x.b + q, 1, g.b_col, x.depth - q, cols, readable_b(g, p + q, j));
  for (int64_t s = 0; s < x.depth - q; ++s) {
    const Vec<T> b = load(panel + s * n);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] += element(x.a + r * x.a_row + (q + s) * x.a_col) * b;
    }
  }
  write_tile(g, sum, i, j, rows, cols, add);
}

// ---- A part of C. -------------------------------------------------------------------------------

// A part of C, and the block of k that is under way; whether the part is one row of small tiles.
struct Range {
  int64_t i, i_end, j, j_end, p, depth;
  bool few;
};

// In bytes: a block of B that stays in the L2 cache, whatever meets it.
constexpr int64_t kNear = 256 * 1024;

// Rows of A that go through all columns before the next are looked at, where C is cut by rows.
constexpr int64_t kGroup = 8 * kRows;

// In elements: a panel of A and what `pack` may write behind it, to whole cache lines.
template <class T>
int64_t panel_a_size(int64_t depth) {
  return round_up(kRows * depth + kCols<T>, 64);
}

// In elements, for a part of C of so many rows and columns.
template <class T>
int64_t scratch_size(int64_t rows, int64_t cols, int64_t depth) {
  return blocks(rows, kRows) * panel_a_size<T>(depth) + round_up(cols, kCols<T>) * depth + kCols<T>;
}

// Tiles have kRows rows; the last of a part has what fits the rest.
inline int rows_of_tile(int64_t left) {
  return left > kRows * 2 / 3 ? kRows : left > kRows / 3 ? kRows * 2 / 3 : kRows / 3;
}

// Memory that will be wanted after this: `count` lines along k, each asked for by one tile.
template <class T>
struct Soon {
  const T* from;
  int64_t between, along, count;
};

template <class T>
Soon<T> soon_of_a(const Product<T>& g, int64_t i, int64_t rows, int64_t p) {
  constexpr int64_t unit = 64 / int64_t(sizeof(T));
  const T* from = g.a + i * g.a_row + p * g.a_col;
  if (g.a_row == 1) return {from, unit, g.a_col, blocks(rows, unit)};
  return {from, g.a_row, g.a_col, rows};
}

template <class T>
Soon<T> soon_of_b(const Product<T>& g, int64_t j, int64_t cols, int64_t p) {
  return soon_of_a(transposed(g), j, cols, p);
}

// The rows of A of a range, in panels. What fills its tiles is read in place if A lies along k.
template <class T>
void pack_a(const Product<T>& g, const Range& range, T* panels) {
  const int64_t rows = range.i_end - range.i, size = panel_a_size<T>(g.depth);
  const int64_t whole = rows / kRows * kRows;
  // An A by columns is packed some columns at a time, so that memory is read in long runs.
  const int64_t step = g.a_row == 1 ? 16 : range.depth;
  for (int64_t q = 0; g.a_col != 1 && q < range.depth; q += step) {
    const int64_t p = range.p + q;
    for (int64_t i = range.i; i < range.i + whole; i += kRows) {
      pack<T, kRows>(panels + (i - range.i) / kRows * size + q * kRows,
                     g.a + i * g.a_row + p * g.a_col, g.a_col, g.a_row,
                     smaller(step, range.depth - q), g.m - i, readable_a(g, i, p));
    }
  }
  const int64_t i = range.i + whole, p = range.p;
  const int width = rows_of_tile(rows - whole);
  if (whole == rows || (g.a_col == 1 && rows - whole == width)) return;
  const auto pack_rest = width == kRows           ? pack<T, kRows>
                         : width == kRows * 2 / 3 ? pack<T, kRows * 2 / 3>
                                                  : pack<T, kRows / 3>;
  pack_rest(panels + whole / kRows * size, g.a + i * g.a_row + p * g.a_col, g.a_col, g.a_row,
            range.depth, g.m - i, readable_a(g, i, p));
}

// Rows [i, i + Rows) of a range. `first`: no panel of B is there yet.
template <class T, int Rows>
void multiply_rows(const Product<T>& g, const Range& range, int64_t i, const T* panel_a,
                   T* panels_b, bool first, Soon<T>& soon) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const int64_t p = range.p, depth = range.depth, rows = smaller(Rows, range.i_end - i);
  const bool add = g.accumulate || p > 0;
  Operands<T> x = {panel_a, 1, Rows, nullptr, 0, nullptr, depth, nullptr, 0};
  if (g.a_col == 1 && rows == Rows) {
    x.a = g.a + i * g.a_row + p;
    x.a_row = g.a_row;
    x.a_col = 1;
  }
  constexpr bool few = Rows <= kFew;
  const bool across = few && range.few && g.b_row == 1 && g.b_col != 1;
  for (int64_t j = range.j; few && across && j < range.j_end; j += n) {
    x.b = g.b + p + j * g.b_col;
    multiply_across<T, few ? Rows : 1>(g, x, i, j, p, rows, smaller(n, range.j_end - j), add);
  }
  for (int64_t j = range.j; !across && j < range.j_end; j += cols) {
    T* panel = panels_b + (j - range.j) * depth;
    const int64_t width = smaller(cols, range.j_end - j);
    const bool narrow = width <= n, whole = width == (narrow ? n : cols);
    const bool keep = first && whole && g.b_col == 1;
    const T* b = g.b + p * g.b_row + j * g.b_col;
    x.b = keep ? b : panel;
    x.b_row = keep ? g.b_row : narrow ? n : cols;
    x.keep = panel;
    if (first && !keep) {
      const auto pack_b = narrow ? pack<T, int(n)> : pack<T, int(cols)>;
      pack_b(panel, b, g.b_row, g.b_col, depth, g.n - j, readable_b(g, p, j));
    }
    if (soon.count > 0) {
      x.soon = soon.from;
      x.soon_step = soon.along;
      soon.from += soon.between;
      --soon.count;
    } else {
      x.soon = x.a;
      x.soon_step = 0;
    }
    const auto multiply =
        narrow ? (keep ? multiply_tile<T, Rows, 1, true> : multiply_tile<T, Rows, 1, false>)
               : (keep ? multiply_tile<T, Rows, 2, true> : multiply_tile<T, Rows, 2, false>);
    multiply(g, x, i, j, rows, width, add);
  }
  if (g.bias && p + depth == g.k) add_bias(g, i, range.j, rows, range.j_end - range.j);
}

template <class T>
void multiply_range(const Product<T>& g, const Range& range, const T* panels_a, T* panels_b,
                    bool first, Soon<T> soon) {
  const int64_t size = panel_a_size<T>(g.depth);
  for (int64_t i = range.i; i < range.i_end; i += kRows) {
    const int rows = rows_of_tile(range.i_end - i);
    const auto multiply = rows == kRows           ? multiply_rows<T, kRows>
                          : rows == kRows * 2 / 3 ? multiply_rows<T, kRows * 2 / 3>
                                                  : multiply_rows<T, kRows / 3>;
    multiply(g, range, i, panels_a + (i - range.i) / kRows * size, panels_b, first && i == range.i,
             soon);
  }
}

// A block of B stays near and meets A group by group; or, where B is the larger, A stays and meets
// B strip by strip. The next group or strip is asked for meanwhile.
template <class T>
void block_product(const Product<T>& g, const Range& all, T* scratch) {
  T* panels_b = scratch + blocks(all.i_end - all.i, kRows) * panel_a_size<T>(g.depth);
  const int64_t rows = all.i_end - all.i, cols = all.j_end - all.j;
  const bool by_rows = rows >= cols || g.depth * cols <= kNear / int64_t(sizeof(T));
  const int64_t step = by_rows ? kGroup : kCols<T>;
  for (int64_t p = 0; p == 0 || p < g.k; p += g.depth) {
    Range range = all;
    range.p = p;
    range.depth = smaller(g.depth, g.k - p);
    range.few = rows <= kFew;
    if (by_rows) {
      for (; range.i < all.i_end; range.i = range.i_end) {
        range.i_end = smaller(all.i_end, range.i + step);
        const int64_t next = smaller(all.i_end - range.i_end, step);
        pack_a(g, range, scratch);
        multiply_range(g, range, scratch, panels_b, range.i == all.i,
                       soon_of_a(g, range.i_end, next, p));
      }
    } else {
      pack_a(g, range, scratch);
      for (; range.j < all.j_end; range.j = range.j_end) {
        range.j_end = smaller(all.j_end, range.j + step);
        const int64_t next = smaller(all.j_end - range.j_end, step);
        multiply_range(g, range, scratch, panels_b, true, soon_of_b(g, range.j_end, next, p));
      }
    }
  }
}

}  // namespace
}  // namespace tt::cpu
