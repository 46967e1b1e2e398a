// Reductions over bool and the integers: no speed is claimed, so one build serves all.
namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = false;
}
}  // namespace tt::cpu

#include "core/tables/reduce.h"
#include "cpu/reduce/kernels.h"

namespace tt::cpu {
extern const ReduceTable reduce_integers_table = make_reduce_table();
}
