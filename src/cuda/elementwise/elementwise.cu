// Elementwise kernels of two and more inputs.
#include "cuda/elementwise/kernels.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

const ElementwiseTable elementwise_table = [] {
  ElementwiseTable all{};
  fill_unary(all);
  fill_of_more(all);
  all.chain = chain;
  return all;
}();

}  // namespace tt::cuda
