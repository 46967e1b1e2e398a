// A request for matrix products, one product at a time.
#pragma once
#include <cstdint>

#include "core/tables/matmul.h"

namespace tt::cpu {
namespace {

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

// How many elements of memory lie between B[p, j] and the end of B: they may be read, if not used.
template <class T>
int64_t readable_b(const Product<T>& g, int64_t p, int64_t j) {
  return (g.k - 1 - p) * g.b_row + (g.n - 1 - j) * g.b_col + 1;
}

// C^T = B^T @ A^T.
template <class T>
Product<T> transposed(const Product<T>& g) {
  return {g.n,     g.m,     g.k,     g.depth, g.b,     g.a,        g.c,        g.bias,      g.b_col,
          g.b_row, g.a_col, g.a_row, g.c_col, g.c_row, g.bias_col, g.bias_row, g.accumulate};
}

template <class T>
Product<T> product_at(const MatmulArgs& g, int64_t depth, int64_t index) {
  const T* a = static_cast<const T*>(g.a);
  const T* b = static_cast<const T*>(g.b);
  T* c = static_cast<T*>(g.c);
  for (int d = g.batch_ndim - 1; d >= 0; --d) {
    const int64_t i = index % g.batch_shape[d];
    index /= g.batch_shape[d];
    a += i * g.a_batch[d];
    b += i * g.b_batch[d];
    c += i * g.c_batch[d];
  }
  const T* bias = static_cast<const T*>(g.bias);
  return {g.m,     g.n,     g.k,     depth,         a,           b,
          c,       bias,    g.a_row, g.a_col,       g.b_row,     g.b_col,
          g.c_row, g.c_col, 0,       g.bias_stride, g.accumulate};
}

inline int64_t batch_size(const MatmulArgs& g) {
  int64_t size = 1;
  for (int d = 0; d < g.batch_ndim; ++d) size *= g.batch_shape[d];
  return size;
}

// Batch dims over which B is broadcast, and A and C go on as further rows do, are rows. Not if that
// made a matrix of row vectors, which are summed in another order: strides must not decide that.
inline MatmulArgs folded(MatmulArgs g) {
  for (; g.batch_ndim > 0; --g.batch_ndim) {
    const int d = g.batch_ndim - 1;
    if (g.batch_shape[d] == 1) continue;
    if (g.m == 1 || g.b_batch[d] != 0 || g.a_batch[d] != g.m * g.a_row ||
        g.c_batch[d] != g.m * g.c_row) {
      break;
    }
    g.m *= g.batch_shape[d];
  }
  return g;
}

}  // namespace
}  // namespace tt::cpu
