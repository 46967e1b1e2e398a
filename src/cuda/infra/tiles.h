// Products of matrices by tiles in shared memory: what matmul, conv and attention are made of.
#pragma once
#include "core/dtypes/dtype.h"
#include "core/formulas/wrapping.h"
#include "cuda/infra/block.h"

namespace tt::cuda {
namespace {

// What products of Ts are summed in: halves as floats; integers wrap around.
template <class T>
using SumOf = std::conditional_t<is_half_type<T>, float, Wrapping<T>>;

// A block has kTile x kTile threads, each for one element of a tile of the result.
constexpr int kTile = 16;
static_assert(kTile * kTile == kThreads);

inline Grid grid_of_tiles(int64_t tiles) { return {tiles, dim3(kTile, kTile)}; }
TT_HOST_DEVICE inline int64_t tiles_of(int64_t size) { return (size + kTile - 1) / kTile; }

// Neighbours in memory that one instruction writes.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Run {
  T of[kCount];
};

template <int kCount>
__device__ void store_run(float* to, const float (&from)[kCount]) {
  Run<float, kCount> run;
  TT_UNROLL
  for (int i = 0; i < kCount; ++i) run.of[i] = from[i];
  *reinterpret_cast<Run<float, kCount>*>(to) = run;
}

// Where a kernel by large tiles puts its sums: use(column)(row, sum) takes one, and where `Use` has
// it and use.takes_runs<kRun>() agrees, put(row, column, sums) takes kRun of them, side by side.
template <class Use, int kRun, class = void>
struct HasRuns : std::false_type {};
template <class Use, int kRun>
struct HasRuns<Use, kRun,
               std::void_t<decltype(std::declval<const Use&>().template takes_runs<kRun>())>>
    : std::true_type {};

// An element of an array that zeros surround. Products with those count as 0, with infinity, too.
template <class T>
struct Padded {
  T value;
  bool is_inside;
};

// A tile of A (rows, depth) @ B (depth, columns): the thread's element (threadIdx.y, threadIdx.x).
// a(row, k) and b(k, column) answer elements, and 0 where there is none; b may answer a Padded.
//
// Each element that is read serves kTile threads. For every kTile of the depth the threads carry
// one element each of A and of B into shared memory, and meet; then each of them sums kTile
// products, and they meet before the tiles are overwritten. Those sums are added in order, which is
// more exact than one long sum.
//
// Threads side by side (x) read a row of each tile, or where `a_turned`, `b_turned` say so a
// column: whichever lies side by side in memory, for a warp reads that at once. The odd width of
// the tiles keeps the elements of a column in different banks of shared memory.
template <class T, class A, class B>
__device__ T product_of_tile(int64_t depth, const A& a, const B& b, bool a_turned = false,
                             bool b_turned = false) {
  constexpr bool is_padded = std::is_same_v<decltype(b(0, 0)), Padded<T>>;
  __shared__ T a_tile[kTile][kTile + 1], b_tile[kTile][kTile + 1];
  __shared__ unsigned inside[kTile];  // of each row of the tile of B, a bit per column
  const int row = threadIdx.y, column = threadIdx.x;
  T sum = 0;
  for (int64_t first = 0; first < depth; first += kTile) {
    const auto carry_a = [&](int i, int k) {
      a_tile[i][k] = first + k < depth ? a(i, first + k) : T(0);
    };
    a_turned ? carry_a(column, row) : carry_a(row, column);
    if constexpr (is_padded) {
      const Padded<T> x = first + row < depth ? b(first + row, column) : Padded<T>{0, true};
      b_tile[row][column] = x.value;
      const unsigned two_rows = __ballot_sync(kAllLanes, x.is_inside);  // of the warp
      if (column == 0) inside[row] = two_rows >> row % 2 * kTile;
    } else {
      const auto carry_b = [&](int k, int j) {
        b_tile[k][j] = first + k < depth ? b(first + k, j) : T(0);
      };
      b_turned ? carry_b(column, row) : carry_b(row, column);
    }
    __syncthreads();
    T part = 0;
    for (int k = 0; k < kTile; ++k)
      if (!is_padded || inside[k] >> column & 1) part += a_tile[row][k] * b_tile[k][column];
    sum += part;
    __syncthreads();
  }
  return sum;
}

}  // namespace
}  // namespace tt::cuda
