// Elementwise kernels over floats, built once per instruction set.
namespace tt::cpu {
namespace {
constexpr bool kFastKernels = true;
}
}  // namespace tt::cpu

#include "cpu/elementwise/rows.h"

namespace tt::cpu::TT_ISA {
extern const ElementwiseTable elementwise_table = make_elementwise_table();
}
