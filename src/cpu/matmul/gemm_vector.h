// Sums of the matrix product whose C is a single row: x @ B, one block of k and one strip of C at a
// time. Nothing of B is used twice, so B is read in place, at the speed of memory.
//
// Product p goes to sum p % L of L, which are added as a tree at the end of the block; this is as
// natural for a B that lies by rows as for one that lies by columns. L is lanes<T> throughout.
#pragma once
#include "cpu/matmul/gemm_request.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

constexpr int64_t kStrip = 1024;

// B is of T, or of halves that are converted as they are read.
template <class T, class S>
struct VectorBlock {
  const T* x;            // (depth), contiguous
  const S* b;            // (depth, width)
  int64_t depth, width;  // at most kDeepest (of gemm_block.h), kStrip
  int64_t b_row, b_col;
  int64_t readable;  // elements of memory that may be read from b on
};

template <class T>
inline Vec<T> add_as_tree(Vec<T>* sums) {
#pragma GCC unroll 4
  for (int step = lanes<T> / 2; step > 0; step /= 2) {
#pragma GCC unroll 8
    for (int r = 0; r < step; ++r) sums[r] += sums[r + step];
  }
  return sums[0];
}

// sums[s + r] += x[r] * row r + x[L + r] * row L + r, for r < Rows: 2 * Rows rows of B in one go
// are streams enough to keep memory busy.
template <class T, int Rows, class S>
inline void add_rows(Vec<T>* sums, const T* x, const S* b, int64_t b_row, int64_t width) {
  const Whole<T> whole;
  constexpr int n = lanes<T>;
  Vec<T> x0[Rows], x1[Rows];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    x0[r] = splat(x[r]);
    x1[r] = splat(x[n + r]);
  }
  const S* b1 = b + n * b_row;
  for (int64_t s = 0; s < width; s += n) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      Vec<T> sum = sums[s + r];
      sum += x0[r] * whole.load(b + s + r * b_row);
      sum += x1[r] * whole.load(b1 + s + r * b_row);
      sums[s + r] = sum;
    }
  }
}

// B by rows, or with any strides: each L columns have L vectors of sums, sum p % L of every column.
template <class T, class S>
void sum_rows(const VectorBlock<T, S>& g, T* total) {
  constexpr int n = lanes<T>, rows = n < 4 ? n : 4;
  Vec<T> sums[kStrip];
  for (int64_t s = 0; s < g.width; s += n) {
    for (int r = 0; r < n; ++r) sums[s + r] = Vec<T>{};
  }
  int64_t p = 0;
  const int64_t overrun = (g.width + n - 1) / n * n - 1;
  while (g.b_col == 1 && p + 2 * n <= g.depth && (p + 2 * n - 1) * g.b_row + overrun < g.readable) {
    for (int r = 0; r < n; r += rows) {
      add_rows<T, rows>(sums + r, g.x + p + r, g.b + (p + r) * g.b_row, g.b_row, g.width);
    }
    p += 2 * n;
  }
  for (; p < g.depth; ++p) {
    for (int64_t s = 0; s < g.width; s += n) {
      const int64_t at = p * g.b_row + s * g.b_col;
      sums[s + p % n] += g.x[p] * load_some<T>(g.b + at, g.b_col, g.width - s, g.readable - at);
    }
  }
  for (int64_t s = 0; s < g.width; s += n) store(total + s, add_as_tree<T>(sums + s));
}

// B by columns (b_row is 1), L of them at a time: each has a vector of sums, sum p % L in its lane.
template <class T, class S>
void sum_columns(const VectorBlock<T, S>& g, T* total) {
  constexpr int n = lanes<T>;
  const int64_t whole = g.depth / n * n, rest = g.depth - whole;
  // A missing product must change no sum, not even -0: it is -0 * 0.
  T x_rest[n];
  for (int64_t p = 0; p < n; ++p) x_rest[p] = p < rest ? g.x[whole + p] : -T(0);
  for (int64_t s = 0; s < g.width; s += n) {
    const S* b = g.b + s * g.b_col;
    const int64_t last = smaller(n, g.width - s) - 1;  // missing columns repeat the last one
    Vec<T> sums[n] = {};
    for (int64_t p = 0; p < whole; p += n) {
      const Vec<T> x = load(g.x + p);
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r)
        sums[r] += x * Whole<T>().load(b + p + smaller(r, last) * g.b_col);
    }
    if (rest > 0) {
      const Vec<T> x = load(x_rest);
      const Front<T> front(rest);
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r) {
        sums[r] += x * front.load(b + whole + smaller(r, last) * g.b_col, T(0));
      }
    }
    transpose<T>(sums);
    store(total + s, add_as_tree<T>(sums));
  }
}

// sums = the products of k's block [p, p + depth) for columns [j, j + width) of C, which is a row.
template <class T, class S>
void sum_strip(const Product<S>& g, int64_t p, int64_t depth, int64_t j, int64_t width, T* sums) {
  constexpr int n = lanes<T>;
  T x[kDeepest<T> + n];
  for (int64_t q = 0; q < depth; q += n)
    store(x + q, load_some<T>(g.a + (p + q) * g.a_col, g.a_col, depth - q, depth - q));
  const VectorBlock<T, S> block = {
      x, g.b + p * g.b_row + j * g.b_col, depth, width, g.b_row, g.b_col, readable_b(g, p, j)};
  const bool by_columns = g.b_row == 1 && (g.b_col != 1 || g.n == 1);
  by_columns ? sum_columns(block, sums) : sum_rows(block, sums);
}

}  // namespace
}  // namespace tt::cpu
