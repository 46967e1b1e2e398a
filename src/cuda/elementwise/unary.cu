// Elementwise kernels of one input.
#include "cuda/elementwise/kernels.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

void fill_unary(ElementwiseTable& table) { fill_of_one(table); }

}  // namespace tt::cuda
