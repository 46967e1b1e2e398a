// Elementwise kernels of two and more inputs.
#include "cuda/elementwise/kernels.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

ElementwiseTable elementwise_table() {
  ElementwiseTable all{};
  fill_unary(all);
  int binary = 0, ternary = 0, quaternary = 0;
#define BINARY(name, result, set, ...) fill<name##_op, set, 2>(all.binary[binary++]);
#define COMPARE(name, set, ...) fill<name##_op, set, 2, Kind::Mask>(all.binary[binary++]);
#define TERNARY(name, result, set, ...) fill<name##_op, set, 3>(all.ternary[ternary++]);
#define QUATERNARY(name, result, set, ...) fill<name##_op, set, 4>(all.quaternary[quaternary++]);
#include "core/ops.def"
  fill<where_op, All, 3>(all.where);
  fill<nan_to_num_op, All, 4>(all.nan_to_num);
  return all;
}

}  // namespace tt::cuda
