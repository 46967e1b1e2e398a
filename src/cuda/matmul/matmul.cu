// Products of matrices, from the definition to what a GPU is built for:
//
//   naive    a thread per element of C
//   tiled    a block per tile of C, which reads memory kTile times less often
//   blocked  (blocked.cu) a thread makes 8 x 8 elements, from registers
//   tensor   (tensor.cu) a warp multiplies 16 x 8 matrices by one instruction, on tensor cores
//
// C (m, n) = A (m, k) @ B (k, n) does 2 m n k operations on m k + k n elements. naive reads two
// elements for each multiply-add, so that it waits for memory all the time. tiled has a block of
// threads compute a tile of C together: what one of them reads, all of its row or column use
// (infra/tiles.h). Where C is small and k long, as in the product of two vectors, a GPU would be
// idle but for a few blocks, and so a block makes a single element (`summed`). Which of them a
// product takes: Plan (cuda/infra/plan.h).
#include "core/tables/matmul.h"
#include "cuda/infra/tables.h"
#include "cuda/infra/tiles.h"
#include "cuda/matmul/product.h"

namespace tt::cuda {
namespace {

// Of an element of C, every `step`-th product from the one at `first`.
template <class T>
__device__ SumOf<T> sum_of_products(const Product<T>& g, int64_t item, int64_t row, int64_t column,
                                    int64_t first, int64_t step) {
  const T* const a = g.a + g.batch.offset(0, item) + row * g.a_row;
  const T* const b = g.b + g.batch.offset(1, item) + column * g.b_col;
  SumOf<T> sum = 0;
  for (int64_t p = first; p < g.k; p += step)
    sum += static_cast<SumOf<T>>(a[p * g.a_col]) * static_cast<SumOf<T>>(b[p * g.b_row]);
  return sum;
}

// A thread per element of C.
template <class T>
__global__ void naive(const Product<T> g) {
  const int64_t index = thread_index();
  if (index >= g.items * g.m * g.n) return;
  const int64_t column = index % g.n, row = index / g.n % g.m, item = index / g.n / g.m;
  const SumOf<T> sum = sum_of_products(g, item, row, column, 0, 1);
  g.finish(g.first(item), row, column, sum);
}

// A block per tile of C. Tiles at the edges reach beyond it: there zeros are read, and nothing is
// written.
template <class T>
__global__ void tiled(const Product<T> g) {
  int64_t item = blockIdx.x;
  const int64_t first_column = next_dim(item, tiles_of(g.n)) * kTile;
  const int64_t first_row = next_dim(item, tiles_of(g.m)) * kTile;
  const T* const a = g.a + g.batch.offset(0, item) + first_row * g.a_row;
  const T* const b = g.b + g.batch.offset(1, item) + first_column * g.b_col;
  using Sum = SumOf<T>;
  const Sum sum = product_of_tile<Sum>(
      g.k,
      [&](int row, int64_t p) {
        return first_row + row < g.m ? static_cast<Sum>(a[row * g.a_row + p * g.a_col]) : Sum(0);
      },
      [&](int64_t p, int column) {
        return first_column + column < g.n ? static_cast<Sum>(b[p * g.b_row + column * g.b_col])
                                           : Sum(0);
      },
      g.a_row < g.a_col, g.b_row < g.b_col);
  const int64_t row = first_row + threadIdx.y, column = first_column + threadIdx.x;
  if (row < g.m && column < g.n) g.finish(g.first(item), row, column, sum);
}

// A block per element of C, whose threads share out the sum.
template <class T>
__global__ void summed(const Product<T> g) {
  int64_t item = blockIdx.x;
  const int64_t column = next_dim(item, g.n), row = next_dim(item, g.m);
  const SumOf<T> sum = sum_of_block(sum_of_products(g, item, row, column, threadIdx.x, kThreads));
  if (threadIdx.x == 0) g.finish(g.first(item), row, column, sum);
}

template <class T>
void run_naive(const MatmulArgs& args) {
  const Product<T> g(args);
  launch<naive<T>>(grid_of(g.items * g.m * g.n), g);
}
// Whether there are kernels for it.
template <class T>
bool by_large_tiles(const MatmulArgs& args) {
  if constexpr (is_half_type<T>)
    product_on_tensor_cores<T>(args);
  else if constexpr (std::is_same_v<T, float>)
    args.tf32 ? product_on_tensor_cores<T>(args) : product_on_cores(args);
  else
    return false;
  return true;
}

template <class T>
void run_product(const MatmulArgs& args) {
  const Product<T> g(args);
  const int64_t numel = g.items * g.m * g.n;
  const Plan plan(g.m, g.n, g.k, g.items);
  if (plan.kernel == Plan::kElements)
    launch<summed<T>>({numel, kThreads}, g);
  else if (plan.kernel == Plan::kSimple || !by_large_tiles<T>(args))
    launch<tiled<T>>(grid_of_tiles(g.items * tiles_of(g.m) * tiles_of(g.n)), g);
}

template <class T>
constexpr void set(MatmulTable& table, DType dtype) {
  if constexpr (!std::is_same_v<T, bool>) {
    table.product[static_cast<int>(dtype)] = run_product<T>;
    table.naive[static_cast<int>(dtype)] = run_naive<T>;
  }
}
constexpr MatmulTable make_table() {
  MatmulTable table{};
#define X(name, type, text, category) set<type>(table, DType::name);
  TT_FOR_EACH_DTYPE(X)
#undef X
  return table;
}

}  // namespace

const MatmulTable matmul_table = make_table();

}  // namespace tt::cuda
