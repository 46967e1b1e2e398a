#include "core/program/passes.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace tt {

namespace {
constexpr const char* kNames[] = {"dead", "doubles", "recompute", "chains", "in_place", "arena"};
}

const char* name_of(Pass pass) { return kNames[static_cast<int>(pass)]; }

std::vector<std::string> Passes::names() { return {std::begin(kNames), std::end(kNames)}; }

void Passes::choose(const std::string& name, bool on) {
  const auto place = std::find(std::begin(kNames), std::end(kNames), name);
  if (place == std::end(kNames)) throw ValueError("programs have no pass '", name, "'");
  on_[place - std::begin(kNames)] = on;
}

std::vector<Slots> Listing::by_step() {
  std::vector<Slots> lists(steps.size());
  for (Slot& slot : slots) lists[slot.step].push_back(&slot);
  return lists;
}

std::vector<Slots> Listing::by_buffer() {
  std::vector<Slots> lists(buffers.size());
  for (const auto& of_step : by_step())
    for (Slot* slot : of_step) lists[slot->buffer].push_back(slot);
  return lists;
}

std::vector<bool> Listing::bound() const {
  std::vector<bool> is_bound(steps.size(), false);
  for (int i = 0; i < size(); ++i)
    if (steps[i]->may_differ())
      std::fill_n(is_bound.begin() + i,
                  steps[i]->alternative ? steps[i]->behind + steps[i]->alternative : 1, true);
  return is_bound;
}

bool Listing::is_written(const Slots& uses, int buffer, int after, int before) const {
  for (const Slot* slot : uses)
    if (slot->writes() && after < slot->step && slot->step < before) return true;
  if (!held[buffer]) return false;
  for (int i = after + 1; i < before; ++i)
    if (is_cut(i)) return true;
  return false;
}

std::vector<int64_t> Listing::live_bytes() const {
  std::vector<int64_t> bytes(steps.size() + 1, 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (held[i] || buffers[i].first < 0) continue;
    bytes[buffers[i].first] += static_cast<int64_t>(buffers[i].bytes);
    bytes[buffers[i].last + 1] -= static_cast<int64_t>(buffers[i].bytes);
  }
  for (int i = 1; i <= size(); ++i) bytes[i] += bytes[i - 1];
  bytes.pop_back();
  return bytes;
}

void Listing::remove(const std::vector<bool>& gone) {
  std::vector<int> number(steps.size());
  int count = 0;
  for (int i = 0; i < size(); ++i) {
    number[i] = count;
    if (!gone[i]) steps[count++] = std::move(steps[i]);
  }
  steps.resize(count);
  slots.erase(
      std::remove_if(slots.begin(), slots.end(), [&](const Slot& x) { return gone[x.step]; }),
      slots.end());
  for (Slot& slot : slots) slot.step = number[slot.step];
  set_lives();
}

void Listing::set_lives() {
  for (Buffer& buffer : buffers) buffer.first = buffer.last = -1;
  for (const Slot& slot : slots) {
    Buffer& buffer = buffers[slot.buffer];
    buffer.first = buffer.first < 0 ? slot.step : std::min(buffer.first, slot.step);
    buffer.last = std::max(buffer.last, slot.step);
  }
}

}  // namespace tt
