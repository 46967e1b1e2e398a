// The fast form of a matrix product whose C is neither a row nor a column: register tiles of C, for
// a part of C and a block of k at a time.
//
// A tile reads its rows of A in place where they lie along k, and from a packed panel where not;
// its columns of B from a panel, unless so few rows of C meet B that packing would not pay: then it
// is read by rows, or transposed in registers. `rows_in_place`, `in_place` and `across` decide:
// Note [Matrix products]. L is lanes<T> throughout.
#pragma once
#include "cpu/matmul/gemm_request.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

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
// along its rows.
template <class T>
struct Operands {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  int64_t depth;
};

// How far ahead of its use a strip of B is asked for, in rows.
constexpr int kAhead = 12;

// So few rows of C that a panel of B would be used by a single tile.
constexpr int kFew = kRows * 2 / 3;

// A C by columns: sums (Rows, cols) are transposed, L columns at a time.
template <class T, int Rows>
void write_columns(T* c, int64_t c_col, const T* sums, int64_t sums_row, int64_t cols, bool add) {
  constexpr int n = lanes<T>, groups = (Rows + n - 1) / n;
  for (int64_t s = 0; s < cols; s += n) {
    T columns[n][groups * n];
#pragma GCC unroll 4
    for (int first = 0; first < Rows; first += n) {
      Vec<T> block[n];
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r) {
        block[r] = load(sums + (first + r < Rows ? first + r : 0) * sums_row + s);
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
      for (; s < cols; ++s) to[s] = add ? to[s] + from[s] : from[s];
    }
  } else if (g.c_row == 1 && rows == Rows) {
    write_columns<T, Rows>(c, g.c_col, sums, width, cols, add);
  } else {
    write_sums(g, sums, width, i, j, rows, cols, add);
  }
}

// C[i:, j:] (rows, cols) = or += what the operands make.
template <class T, int Rows, int Vectors>
void multiply_tile(const Product<T>& g, const Operands<T>& x, int64_t i, int64_t j, int64_t rows,
                   int64_t cols, bool add) {
  Vec<T> sum[Rows][Vectors] = {};
  add_products<T, Rows, kAhead>(sum, x.a, x.a_row, x.a_col, x.b, x.depth, x.b_row);
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

// A part of C of so many rows in all, and what of it and of k is under way.
struct Range {
  int64_t i, i_end, j, j_end, p, depth, rows;
};

// So few rows that A stays near, and B is taken strip by strip.
constexpr int64_t kLow = 8 * kRows;

// Whether tiles read B where it is, because few would use a panel: transposed in registers, or by
// rows.
template <class T>
bool across(const Product<T>& g, const Range& range) {
  return range.rows <= kFew && g.b_row == 1 && g.b_col != 1;
}
template <class T>
bool in_place(const Product<T>& g, const Range& range) {
  return range.rows <= kLow && g.b_col == 1;
}

// Whether tiles read their rows of A where they are. Not rows a page apart: they would all have
// the same few lines of the first cache.
template <class T>
bool rows_in_place(const Product<T>& g) {
  constexpr int64_t kPage = 4096;
  return g.a_col == 1 && g.a_row * int64_t(sizeof(T)) % kPage != 0;
}

// In elements: a panel of A and what `pack` may write behind it, to whole cache lines.
template <class T>
int64_t panel_a_size(int64_t depth) {
  return round_up(kRows * depth + kCols<T>, 64);
}

// Whether a part of C is summed in rows of its own, which are turned at the end: a C by columns, in
// several blocks of k.
template <class T>
bool turns_sums(const Product<T>& g) {
  return g.c_col != 1 && g.c_row == 1 && g.k > g.depth && !g.accumulate;
}
template <class T>
int64_t sums_size(const Product<T>& g, int64_t rows, int64_t cols) {
  return turns_sums(g) ? rows * round_up(cols, kCols<T>) : 0;
}

// In elements, for a part of C of so many rows and columns.
template <class T>
int64_t scratch_size(const Product<T>& g, int64_t rows, int64_t cols) {
  return sums_size(g, rows, cols) + blocks(rows, kRows) * panel_a_size<T>(g.depth) +
         round_up(cols, kCols<T>) * g.depth + kCols<T>;
}

// The rows of A of a range, in panels; not what is read in place, by tiles that it fills.
template <class T>
void pack_a(const Product<T>& g, const Range& range, T* panels) {
  const int64_t rows = range.i_end - range.i, size = panel_a_size<T>(g.depth);
  const int64_t whole = rows / kRows * kRows;
  // An A by columns is packed some columns at a time, so that memory is read in long runs.
  const int64_t step = g.a_row == 1 ? 16 : range.depth;
  for (int64_t q = rows_in_place(g) ? range.depth : 0; q < range.depth; q += step) {
    const int64_t p = range.p + q;
    for (int64_t i = range.i; i < range.i + whole; i += kRows) {
      pack<T, kRows>(panels + (i - range.i) / kRows * size + q * kRows,
                     g.a + i * g.a_row + p * g.a_col, g.a_col, g.a_row,
                     smaller(step, range.depth - q), g.m - i, readable_a(g, i, p));
    }
  }
  for_tiles(range.i + whole, range.i_end, [&](auto width, int64_t i) {
    if (rows_in_place(g) && rows - whole == width) return;
    pack<T, decltype(width)::value>(panels + whole / kRows * size,
                                    g.a + i * g.a_row + range.p * g.a_col, g.a_col, g.a_row,
                                    range.depth, g.m - i, readable_a(g, i, range.p));
  });
}

// Rows [q, q + Rows) of B, along which whole strips lie, in panels.
template <class T, int Rows>
void pack_rows(const Product<T>& g, const Range& range, int64_t q, int64_t whole, T* panels) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const T* from = g.b + (range.p + q) * g.b_row + range.j;
  for (int64_t j = 0; j < whole; j += cols) {
    T* to = panels + j * range.depth + q * cols;
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      store(to + r * cols, load(from + r * g.b_row + j));
      store(to + r * cols + n, load(from + r * g.b_row + j + n));
    }
  }
}

// The columns of B of a range, in panels: those by rows some rows at a time, so that memory is read
// in long runs; not what is read in place.
template <class T>
void pack_b(const Product<T>& g, const Range& range, T* panels) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const int64_t p = range.p, depth = range.depth;
  const int64_t whole = g.b_col == 1 ? (range.j_end - range.j) / cols * cols : 0;
  int64_t q = whole == 0 || in_place(g, range) ? depth : 0;
  for (; q + 4 <= depth; q += 4) pack_rows<T, 4>(g, range, q, whole, panels);
  for (; q < depth; ++q) pack_rows<T, 1>(g, range, q, whole, panels);
  for (int64_t j = range.j + whole; j < range.j_end; j += cols) {
    const auto pack_strip = range.j_end - j <= n ? pack<T, int(n)> : pack<T, int(cols)>;
    pack_strip(panels + (j - range.j) * depth, g.b + p * g.b_row + j * g.b_col, g.b_row, g.b_col,
               depth, g.n - j, readable_b(g, p, j));
  }
}

// Rows [i, i + Rows) of a range.
template <class T, int Rows>
void multiply_rows(const Product<T>& g, const Range& range, int64_t i, const T* panel_a,
                   const T* panels_b) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const int64_t p = range.p, depth = range.depth, rows = smaller(Rows, range.i_end - i);
  const bool add = g.accumulate || p > 0;
  Operands<T> x = {panel_a, 1, Rows, nullptr, 0, depth};
  if (rows_in_place(g) && rows == Rows) {
    x.a = g.a + i * g.a_row + p;
    x.a_row = g.a_row;
    x.a_col = 1;
  }
  if (Rows <= kFew && across(g, range)) {
    for (int64_t j = range.j; j < range.j_end; j += n) {
      x.b = g.b + p + j * g.b_col;
      multiply_across<T, Rows <= kFew ? Rows : 1>(g, x, i, j, p, rows, smaller(n, range.j_end - j),
                                                  add);
    }
  } else {
    for (int64_t j = range.j; j < range.j_end; j += cols) {
      const int64_t width = smaller(cols, range.j_end - j);
      const bool narrow = width <= n, here = width == cols && in_place(g, range);
      x.b = here ? g.b + p * g.b_row + j : panels_b + (j - range.j) * depth;
      x.b_row = here ? g.b_row : narrow ? n : cols;
      const auto multiply = narrow ? multiply_tile<T, Rows, 1> : multiply_tile<T, Rows, 2>;
      multiply(g, x, i, j, rows, width, add);
    }
  }
  if (g.bias && p + depth == g.k) add_bias(g, i, range.j, rows, range.j_end - range.j);
}

template <class T>
void multiply_range(const Product<T>& g, const Range& range, const T* panels_a, const T* panels_b) {
  const int64_t size = panel_a_size<T>(g.depth);
  for_tiles(range.i, range.i_end, [&](auto rows, int64_t i) {
    multiply_rows<T, decltype(rows)::value>(g, range, i, panels_a + (i - range.i) / kRows * size,
                                            panels_b);
  });
}

// A block of B stays near and meets all rows of A; or, where those are few, they stay and meet B
// strip by strip.
template <class T>
void sum_blocks(const Product<T>& g, const Range& all, T* scratch) {
  const int64_t size = panel_a_size<T>(g.depth);
  const int64_t cols = all.rows > kLow ? all.j_end - all.j : kCols<T>;
  T* panels_b = scratch + blocks(all.rows, kRows) * size;
  for (int64_t p = 0; p == 0 || p < g.k; p += g.depth) {
    Range range = all;
    range.p = p;
    range.depth = smaller(g.depth, g.k - p);
    for (range.j = all.j; range.j < all.j_end; range.j = range.j_end) {
      range.j_end = smaller(all.j_end, range.j + cols);
      if (!across(g, range)) pack_b(g, range, panels_b);
      if (range.j == all.j) pack_a(g, range, scratch);
      multiply_range(g, range, scratch, panels_b);
    }
  }
}

// A part of C. Of a C by columns all blocks' sums are turned at once, not tile by tile.
template <class T>
void block_product(const Product<T>& g, const Range& all, T* scratch) {
  if (!turns_sums(g)) return sum_blocks(g, all, scratch);
  constexpr int n = lanes<T>;
  const int64_t rows = all.rows, cols = all.j_end - all.j, row = round_up(cols, kCols<T>);
  Product<T> part = g;
  part.c = scratch - all.i * row - all.j;
  part.c_row = row, part.c_col = 1;
  sum_blocks(part, all, scratch + sums_size(g, rows, cols));
  int64_t r = 0;
  for (; r + n <= rows; r += n)
    write_columns<T, n>(g.c + all.i + r + all.j * g.c_col, g.c_col, scratch + r * row, row, cols,
                        false);
  write_sums(g, scratch + r * row, row, all.i + r, all.j, rows - r, cols, false);
}

}  // namespace
}  // namespace tt::cpu
