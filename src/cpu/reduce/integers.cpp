// Reductions over bool and the integers: no speed is claimed, so one build serves all.
#include "core/tables/reduce.h"

namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = false;
constexpr bool is_here(Reduce) { return true; }
}  // namespace
}  // namespace tt::cpu

#include "cpu/reduce/kernels.h"
#include "cpu/reduce/places.h"

namespace tt::cpu {
extern const ReduceTable reduce_integers_table = with_places(make_reduce_table());
}  // namespace tt::cpu
