// Reductions over float32 and float64, built once per instruction set.
namespace tt::cpu {
namespace {
constexpr bool kFloatKernels = true;
}
}  // namespace tt::cpu

#include "cpu/reduce/kernels.h"
#include "cpu/reduce/logsumexp.h"

namespace tt::cpu::TT_ISA {
constexpr ReduceTable make_table() {
  ReduceTable table = make_reduce_table();
  table.logsumexp = logsumexp;
  return table;
}
extern const ReduceTable reduce_table = make_table();
}  // namespace tt::cpu::TT_ISA
