// Multiplications and additions of a launch, two for a product that is summed: those of matrix
// products, convolutions, attention and recurrent layers. Other kernels count as none.
// What a profile says of an op is counted in tiny_torch/autograd/_profiler/costs.py.
#pragma once
#include "core/tables/attention.h"
#include "core/tables/conv.h"
#include "core/tables/matmul.h"
#include "core/tables/recurrent.h"

namespace tt {

template <class Sizes>
double product_of(const Sizes& sizes, int count) {
  double product = 1;
  for (int d = 0; d < count; ++d) product *= static_cast<double>(sizes[d]);
  return product;
}

template <class Args>
double flops_of(const Args&) {
  return 0;
}
inline double flops_of(const MatmulArgs& x) {
  return 2.0 * x.m * x.n * x.k * product_of(x.batch_shape, x.batch_ndim);
}
inline double flops_of(const ConvArgs& x) {
  return 2.0 * x.batch * x.groups * x.x_channels * x.y_channels * product_of(x.y_size, 3) *
         product_of(x.taps, 3);
}
inline double flops_of(const ConvSum& x) {
  double pixels = 0;  // times their taps
  for (int64_t i = 0; i < x.part_count; ++i)
    pixels += product_of(x.parts[i].size, 3) * x.parts[i].tap_count;
  return 2.0 * x.batch * x.groups * x.rows * x.channels * pixels;
}
// Backward makes the scores anew, and four products more. Causal, a query sees half of the keys.
inline double flops_of(const AttentionArgs& x) {
  const double seen = product_of(x.batch, x.batch.size()) * x.queries * x.keys;
  const double columns =
      x.grad.data ? 3.0 * x.width + 2.0 * x.value_width : double(x.width) + x.value_width;
  return (x.causal ? 1.0 : 2.0) * seen * columns;
}
inline double flops_of(const RecurrentSequence& x) {
  double rows = 0;
  for (int64_t i = 0; x.weight && i < x.count; ++i)
    for (const RecurrentProduct& product : x.phases[i].products) rows += product.rows;
  return 2.0 * rows * x.k * x.groups * x.hidden;
}

}  // namespace tt
