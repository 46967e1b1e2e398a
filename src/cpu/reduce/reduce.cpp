// Sums, products and means over float32 and float64, built once per instruction set.
#include "core/tables/reduce.h"

namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = true;
constexpr bool is_here(Reduce op) { return op < Reduce::amax; }
}  // namespace
}  // namespace tt::cpu

#include "cpu/reduce/kernels.h"

namespace tt::cpu::TT_ISA {
extern const ReduceTable reduce_table = make_reduce_table();
}
