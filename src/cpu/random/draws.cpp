#include "cpu/random/draws.h"

#include "cpu/infra/walk.h"

namespace tt::cpu {

void for_each_row(const NDArray& out, std::initializer_list<Operand> inputs, const Row& row) {
  if (out.numel() == 0) return;
  const int count = static_cast<int>(inputs.size());
  const Iter iter(out, inputs.begin(), count, out.dtype(), out.dtype());
  walk(iter, 0, iter.numel, iter.numel, row);
}

}  // namespace tt::cpu
