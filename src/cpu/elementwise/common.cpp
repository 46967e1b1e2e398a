// Elementwise kernels over bool, the integers, and float64 of rare ops: no speed is claimed, so one
// build serves all.
namespace tt::cpu {
namespace {
constexpr bool is_here(int, bool fast) { return !fast; }
}  // namespace
}  // namespace tt::cpu

#include "cpu/elementwise/rows.h"

namespace tt::cpu {
extern const ElementwiseTable elementwise_common_table = make_elementwise_table();
}
