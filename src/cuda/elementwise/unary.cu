// Elementwise kernels of one input.
#include "cuda/elementwise/kernels.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

void fill_unary(ElementwiseTable& table) {
  int op = 0;
#define UNARY(name, result, set, ...) fill<name##_op, set, 1>(table.unary[op++]);
#define TEST(name, set, ...) fill<name##_op, set, 1, Kind::Mask>(table.unary[op++]);
#include "core/ops.def"
}

}  // namespace tt::cuda
