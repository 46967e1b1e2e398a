// Products of matrices by tiles in shared memory: what matmul, conv and attention are made of.
#pragma once
#include "cuda/infra/block.h"

namespace tt::cuda {
namespace {

// A block has kTile x kTile threads, each for one element of a tile of the result.
constexpr int kTile = 16;
static_assert(kTile * kTile == kThreads);

inline Grid grid_of_tiles(int64_t tiles) {
  return {static_cast<unsigned>(tiles), dim3(kTile, kTile)};
}
TT_HOST_DEVICE inline int64_t tiles_of(int64_t size) { return (size + kTile - 1) / kTile; }

// A tile of A (rows, depth) @ B (depth, columns): the thread's element (threadIdx.y, threadIdx.x).
// a(row, k) and b(k, column) answer elements, and 0 where there is none.
//
// Each element that is read serves kTile threads. For every kTile of the depth the threads carry
// one element each of A and of B into shared memory, and meet; then each of them sums kTile
// products, and they meet before the tiles are overwritten. Those sums are added in order, which is
// more exact than one long sum.
template <class T, class A, class B>
__device__ T product_of_tile(int64_t depth, const A& a, const B& b) {
  __shared__ T a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int row = threadIdx.y, column = threadIdx.x;
  T sum = 0;
  for (int64_t first = 0; first < depth; first += kTile) {
    a_tile[row][column] = first + column < depth ? a(row, first + column) : T(0);
    b_tile[row][column] = first + row < depth ? b(first + row, column) : T(0);
    __syncthreads();
    T part = 0;
    for (int k = 0; k < kTile; ++k) part += a_tile[row][k] * b_tile[k][column];
    sum += part;
    __syncthreads();
  }
  return sum;
}

}  // namespace
}  // namespace tt::cuda
