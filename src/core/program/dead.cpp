// Dead launches: those that only write what no later launch uses, and nobody holds.
#include "core/program/passes.h"

namespace tt {

void drop_dead(Listing& x) {
  const auto by_step = x.by_step();
  const std::vector<bool> bound = x.bound();
  std::vector<bool> used = x.held, gone(x.steps.size(), false);
  for (int i = x.size() - 1; i >= 0; --i) {
    bool dead = !bound[i] && !x.steps[i]->draws && !x.is_cut(i);
    for (const Slot* slot : by_step[i])
      dead &= slot->access == Access::kReads ||
              (slot->access == Access::kWrites && !used[slot->buffer]);
    gone[i] = dead;
    for (const Slot* slot : by_step[i]) used[slot->buffer] = used[slot->buffer] || !dead;
  }
  x.remove(gone);
}

}  // namespace tt
