// Reductions over float32 and float64, built once per instruction set.
namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = true;
}
}  // namespace tt::cpu

#include "cpu/reduce/kernels.h"

namespace tt::cpu::TT_ISA {
const ReduceTable reduce_table = make_reduce_table();
}
