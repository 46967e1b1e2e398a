// Double launches: an elementwise launch that does what another has done, on the same elements,
// if the other's result is there, or can stay without a higher peak. Who reads the one result reads
// the other.
#include <algorithm>
#include <cstring>

#include "core/program/passes.h"

namespace tt {

namespace {

// Where an operand is; null of a number, which the Iter holds itself.
const Slot* slot_of(const Slots& slots, const Iter::Entry& operand) {
  const auto is_it = [&](const Slot* slot) { return slot->where == &operand.data; };
  const auto slot = std::find_if(slots.begin(), slots.end(), is_it);
  return slot == slots.end() ? nullptr : *slot;
}

bool have_same_place(const Slot* a, const Slot* b) {
  return a && b ? a->buffer == b->buffer && a->offset == b->offset : a == b;
}

// Whether operand `k` is one number. Followed ones may be equal by chance, in this run alone.
bool are_same_number(const Iter& a, const Iter& b, int k) {
  const NumberOperand *const x = number_of(a, k), *const y = number_of(b, k);
  return x && y && x->number == y->number && x->rounded == y->rounded &&
         std::memcmp(x->bytes, y->bytes, itemsize(a.operands[k].dtype)) == 0;
}

// Whether the launches differ in nothing but in whose memory they write.
bool do_the_same(const Iter& a, const Slots& of_a, const Iter& b, const Slots& of_b) {
  if (a.count != b.count || a.ndim != b.ndim || a.numel != b.numel || a.compute != b.compute ||
      a.result != b.result || !std::equal(a.shape, a.shape + a.ndim, b.shape))
    return false;
  for (int k = 0; k < a.count; ++k) {
    const Iter::Entry &x = a.operands[k], &y = b.operands[k];
    if (x.dtype != y.dtype || !std::equal(x.strides, x.strides + a.ndim, y.strides)) return false;
    const Slot *const in_a = slot_of(of_a, x), *const in_b = slot_of(of_b, y);
    if (k == 0 ? !in_a || !in_b || in_a->offset != in_b->offset : !have_same_place(in_a, in_b))
      return false;
    if (k > 0 && !in_a && !are_same_number(a, b, k)) return false;
  }
  return true;
}

}  // namespace

void share_doubles(Listing& x) {
  const auto by_step = x.by_step();
  const auto by_buffer = x.by_buffer();
  const std::vector<bool> bound = x.bound();
  std::vector<int64_t> live = x.live_bytes();
  const int64_t most = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  std::vector<bool> gone(x.steps.size(), false);
  // The buffer that a launch makes alone, and nobody changes; or -1.
  const auto made_by = [&](int step) {
    const Iter* const iter = x.steps[step]->walk();
    if (!iter || bound[step]) return -1;
    const Slot* const to = slot_of(by_step[step], iter->operands[0]);
    if (!to || x.held[to->buffer] || x.buffers[to->buffer].first != step) return -1;
    const auto is_changed = [&](const Slot* slot) { return slot->writes() && slot != to; };
    const Slots& uses = by_buffer[to->buffer];
    return std::none_of(uses.begin(), uses.end(), is_changed) ? to->buffer : -1;
  };
  std::vector<std::pair<int, int>> makers;  // launches, and their buffers
  for (int i = 0; i < x.size(); ++i) {
    const int to = made_by(i);
    if (to < 0) continue;
    for (const auto& [k, from] : makers) {
      Buffer &there = x.buffers[from], &here = x.buffers[to];
      const auto is_full = [&](int64_t bytes) { return bytes + int64_t(here.bytes) > most; };
      if (there.bytes != here.bytes ||
          (there.last < i && std::any_of(&live[there.last + 1], &live[i], is_full)) ||
          x.steps[k]->address() != x.steps[i]->address() ||
          !do_the_same(*x.steps[k]->walk(), by_step[k], *x.steps[i]->walk(), by_step[i]))
        continue;
      const auto is_as_it_was = [&, k = k](const Slot* slot) {
        return slot->writes() || !x.is_written(by_buffer[slot->buffer], slot->buffer, k, i);
      };
      if (!std::all_of(by_step[i].begin(), by_step[i].end(), is_as_it_was)) continue;
      for (Slot* slot : by_buffer[to]) slot->buffer = from;
      gone[i] = true;
      for (int t = there.last + 1; t < i; ++t) live[t] += static_cast<int64_t>(here.bytes);
      there.last = std::max(there.last, here.last);
      break;
    }
    if (!gone[i]) makers.emplace_back(i, to);
  }
  x.remove(gone);
}

}  // namespace tt
