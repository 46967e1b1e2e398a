// Elementwise kernels of one input over floats, built once per instruction set.
namespace tt::cpu {
namespace {
constexpr bool is_here(int inputs, bool fast) { return fast && inputs == 1; }
}  // namespace
}  // namespace tt::cpu

#include "cpu/elementwise/rows.h"

namespace tt::cpu::TT_ISA {
extern const ElementwiseTable elementwise_unary_table = make_elementwise_table();
}
