// Products on tensor cores (infra/tensor_tiles.h): of halves, and of float32 as TF32.
#include "cuda/infra/tensor_tiles.h"
#include "cuda/matmul/product.h"

namespace tt::cuda {
namespace {

// Whether rows of A, and columns of B, run along the depth in memory.
template <class T, int kSize, bool kADeep, bool kBDeep>
__global__ void __launch_bounds__(kThreads, 2)
    tensor(const Product<T> g, const Plan plan, float* const sums) {
  const Place at(g, plan);
  const int64_t begin = at.split * plan.split_depth;
  TensorTile<T, kSize, kADeep, kBDeep>::multiply(
      g.rows(at.item), g.columns(at.item), at.row, at.column, begin,
      at_most(begin + plan.split_depth, g.k), Finish<T>(g, at, sums));
}

template <class T, int kSize, bool kADeep, bool kBDeep>
void run(const Product<T>& g, const Plan& plan) {
  const Grid grid =
      grid_of(plan, g.m, g.n, g.items, TensorTile<T, kSize, kADeep, kBDeep>::kSharedBytes);
  run_splits(g, plan,
             [&](float* sums) { launch<tensor<T, kSize, kADeep, kBDeep>>(grid, g, plan, sums); });
}
template <class T, bool kADeep, bool kBDeep>
void run(const Product<T>& g) {
  const Plan plan(g.m, g.n, g.k, g.items);
  if (plan.size == 128)
    run<T, 128, kADeep, kBDeep>(g, plan);
  else
    run<T, 64, kADeep, kBDeep>(g, plan);
}

}  // namespace

template <class T>
void product_on_tensor_cores(const MatmulArgs& args) {
  const Product<T> g(args);
  const bool a_deep = args.a_col <= args.a_row, b_deep = args.b_row <= args.b_col;
  if (a_deep)
    b_deep ? run<T, true, true>(g) : run<T, true, false>(g);
  else
    b_deep ? run<T, false, true>(g) : run<T, false, false>(g);
}
template void product_on_tensor_cores<Half>(const MatmulArgs&);
template void product_on_tensor_cores<BFloat16>(const MatmulArgs&);
template void product_on_tensor_cores<float>(const MatmulArgs&);

}  // namespace tt::cuda
