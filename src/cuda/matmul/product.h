// What the kernels of matmul compute, and how those by large tiles share it out.
#pragma once
#include "core/tables/matmul.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/plan.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

// MatmulArgs by value. `batch` has where the matrices A, B and C of an item are.
template <class T>
struct Product {
  int64_t m, n, k, items;
  const T *a, *b, *bias;
  T* c;
  int64_t a_row, a_col, b_row, b_col, c_row, c_col, bias_stride;
  Positions<3> batch;
  bool accumulate;

  explicit Product(const MatmulArgs& g)
      : m(g.m),
        n(g.n),
        k(g.k),
        items(1),
        a(static_cast<const T*>(g.a)),
        b(static_cast<const T*>(g.b)),
        bias(static_cast<const T*>(g.bias)),
        c(static_cast<T*>(g.c)),
        a_row(g.a_row),
        a_col(g.a_col),
        b_row(g.b_row),
        b_col(g.b_col),
        c_row(g.c_row),
        c_col(g.c_col),
        bias_stride(g.bias_stride),
        batch{},
        accumulate(g.accumulate) {
    batch.ndim = g.batch_ndim;
    for (int d = 0; d < g.batch_ndim; ++d) {
      items *= batch.shape[d] = g.batch_shape[d];
      batch.strides[0][d] = g.a_batch[d];
      batch.strides[1][d] = g.b_batch[d];
      batch.strides[2][d] = g.c_batch[d];
    }
  }

  __device__ MatrixFactor<T> rows(int64_t item) const {
    return {a + batch.offset(0, item), m, k, a_row, a_col};
  }
  __device__ MatrixFactor<T> columns(int64_t item) const {
    return {b + batch.offset(1, item), n, k, b_col, b_row};
  }

  // C[row, column] of an item, which begins at `first`, from the sum of its products.
  __device__ T* first(int64_t item) const { return c + batch.offset(2, item); }
  __device__ void finish(T* first, int64_t row, int64_t column, SumOf<T> sum) const {
    using Sum = SumOf<T>;
    T* const to = first + row * c_row + column * c_col;
    if (accumulate) sum = static_cast<Sum>(*to) + sum;
    if (bias) sum += static_cast<Sum>(bias[column * bias_stride]);
    *to = static_cast<T>(sum);
  }
  // The same of neighbours in a row, where C takes them at once.
  template <int kRun>
  __device__ bool takes_runs(const T* first) const {
    return !accumulate && c_col == 1 && c_row % kRun == 0 && n % kRun == 0 &&
           reinterpret_cast<uintptr_t>(first) % sizeof(Run<T, kRun>) == 0;
  }
  template <int kRun>
  __device__ void finish(T* first, int64_t row, int64_t column, const float (&sums)[kRun]) const {
    Run<T, kRun> run;
    TT_UNROLL
    for (int i = 0; i < kRun; ++i)
      run.of[i] = static_cast<T>(
          bias ? sums[i] + static_cast<float>(bias[(column + i) * bias_stride]) : sums[i]);
    *reinterpret_cast<Run<T, kRun>*>(first + row * c_row + column) = run;
  }
};

// The tile of a block.
struct Place {
  int64_t item, split, row, column;

  // Blocks that run at the same time shall read the same rows and columns: they follow one another
  // in groups of 8 rows of tiles.
  template <class T>
  __device__ Place(const Product<T>& g, const Plan& plan) : item(blockIdx.x) {
    const int64_t rows = (g.m + plan.size - 1) / plan.size;
    const int64_t columns = (g.n + plan.size - 1) / plan.size;
    int64_t index = next_dim(item, rows * columns);
    split = next_dim(item, plan.splits);
    const int64_t group = index / (8 * columns), left = at_most(rows - group * 8, 8);
    index -= group * 8 * columns;
    row = (group * 8 + index % left) * plan.size;
    column = index / left * plan.size;
  }
};

inline Grid grid_of(const Plan& plan, int64_t m, int64_t n, int64_t items,
                    size_t shared_bytes = 0) {
  const int64_t tiles = ceil_div(m, plan.size) * ceil_div(n, plan.size);
  return {plan.splits * items * tiles, kThreads, shared_bytes};
}

// Where the sum of a block's tile goes: to C, or with splits to sums (splits, items, m, n).
template <class T>
struct Finish {
  const Product<T>& g;
  T* c;
  float* sums;

  __device__ Finish(const Product<T>& g, const Place& at, float* all)
      : g(g),
        c(g.first(at.item)),
        sums(all ? all + (at.split * g.items + at.item) * g.m * g.n : nullptr) {}
  __device__ auto operator()(int64_t column) const {
    return [this, column](int64_t row, float sum) {
      if (row >= g.m || column >= g.n) return;
      if (sums)
        sums[row * g.n + column] = sum;
      else
        g.finish(c, row, column, sum);
    };
  }
  template <int kRun>
  __device__ bool takes_runs() const {
    return sums ? g.n % kRun == 0 &&
                      reinterpret_cast<uintptr_t>(sums) % sizeof(Run<float, kRun>) == 0
                : g.template takes_runs<kRun>(c);
  }
  template <int kRun>
  __device__ void put(int64_t row, int64_t column, const float (&run)[kRun]) const {
    if (row >= g.m || column >= g.n) return;
    sums ? store_run(sums + row * g.n + column, run) : g.finish(c, row, column, run);
  }
};

// A thread per element of C adds the sums of the splits.
template <class T>
__global__ void add_splits(const Product<T> g, int64_t splits, const float* const sums) {
  const int64_t index = thread_index(), numel = g.items * g.m * g.n;
  if (index >= numel) return;
  float sum = 0;
  for (int64_t split = 0; split < splits; ++split) sum += sums[split * numel + index];
  g.finish(g.first(index / g.n / g.m), index / g.n % g.m, index % g.n, sum);
}

// Calls run(sums), which launches the plan's kernel.
template <class T, class Run>
void run_splits(const Product<T>& g, const Plan& plan, const Run& run) {
  if (plan.splits == 1) return run(nullptr);
  const Scratch<float> sums(plan.splits * g.items * g.m * g.n);
  run(sums.data());
  launch<add_splits<T>>(grid_of(g.items * g.m * g.n), g, plan.splits, sums.data());
}

}  // namespace

// By tiles, as a Plan says: float32 on CUDA cores (blocked.cu); Half, BFloat16, or float32 as TF32
// on tensor cores (tensor.cu).
void product_on_cores(const MatmulArgs& args);
template <class T>
void product_on_tensor_cores(const MatmulArgs& args);

}  // namespace tt::cuda
