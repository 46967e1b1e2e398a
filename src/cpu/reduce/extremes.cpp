// Extremes, their places, any and all over float32 and float64, built once per instruction set.
#include "core/tables/reduce.h"

namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = true;
constexpr bool is_here(Reduce op) { return op >= Reduce::amax; }
}  // namespace
}  // namespace tt::cpu

#include "cpu/reduce/kernels.h"
#include "cpu/reduce/places.h"

namespace tt::cpu::TT_ISA {
extern const ReduceTable reduce_extremes_table = with_places(make_reduce_table());
}  // namespace tt::cpu::TT_ISA
