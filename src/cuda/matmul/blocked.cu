// Products of float32 on CUDA cores, by large tiles (infra/blocked.h).
#include "cuda/infra/blocked.h"
#include "cuda/matmul/product.h"

namespace tt::cuda {
namespace {

template <int kSize>
__global__ void __launch_bounds__(kThreads, 2)
    blocked(const Product<float> g, const Plan plan, float* const sums) {
  const Place at(g, plan);
  const int64_t begin = at.split * plan.split_depth;
  BlockedTile<kSize>::multiply(g.rows(at.item), g.columns(at.item), at.row, at.column, begin,
                               at_most(begin + plan.split_depth, g.k), Finish<float>(g, at, sums));
}

}  // namespace

void product_on_cores(const MatmulArgs& args) {
  const Product<float> g(args);
  const Plan plan(g.m, g.n, g.k, g.items);
  const Grid grid = grid_of(plan, g.m, g.n, g.items);
  run_splits(g, plan, [&](float* sums) {
    if (plan.size == 128)
      launch<blocked<128>>(grid, g, plan, sums);
    else
      launch<blocked<64>>(grid, g, plan, sums);
  });
}

}  // namespace tt::cuda
