// Elementwise kernels over bool and the integers: no speed is claimed, so one build serves all.
namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = false;
}
}  // namespace tt::cpu

#include "cpu/elementwise.h"
#include "cpu/tables.h"

namespace tt::cpu {
const ElementwiseTable elementwise_int_table = make_elementwise_table();
}
