// Recompute: what lies idle at the peak, and is cheap, is computed again where it is read.
//
// Between two uses that stand before and behind the peak, a buffer need not be there if the
// launches that wrote it can be done again: elementwise ones, softmax and norms, whose inputs are
// as they were, or can be had in the same way. The copies stand right before the late use, take the
// same inputs, and have the same bits. Buffers that were made last come first: what they are made
// from may be computed again after them, for the copies.
#include <algorithm>
#include <map>
#include <set>

#include "core/program/passes.h"

namespace tt {

namespace {

constexpr size_t kMostLaunches = 8;  // copies for one buffer
constexpr int kMostTimes = 3;        // that a buffer is computed again
constexpr int64_t kLeastPart = 256;  // of the peak: smaller buffers stay

// Copies of launches, before launch `at`; they write other buffers than the launches themselves.
struct Repeat {
  int buffer, at;
  std::set<int> launches, fresh;  // and the buffers for which there are others
};

class Recompute {
 public:
  // `times`: how often buffers have been computed again, or those that they are copies of.
  Recompute(Listing& listing, std::map<int, int>& times)
      : x_(listing),
        times_(times),
        by_step_(listing.by_step()),
        by_buffer_(listing.by_buffer()),
        bound_(listing.bound()),
        live_(listing.live_bytes()) {}

  // One buffer, where that lowers the peak.
  bool apply() {
    if (live_.empty()) return false;
    peak_ = static_cast<int>(std::max_element(live_.begin(), live_.end()) - live_.begin());
    std::vector<int> order;
    for (size_t i = 0; i < x_.buffers.size(); ++i)
      if (!x_.held[i] && times_[static_cast<int>(i)] < kMostTimes && x_.buffers[i].first < peak_ &&
          peak_ < x_.buffers[i].last &&
          static_cast<int64_t>(x_.buffers[i].bytes) * kLeastPart >= live_[peak_])
        order.push_back(static_cast<int>(i));
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return x_.buffers[a].first > x_.buffers[b].first; });
    for (int buffer : order) {
      Repeat found{buffer, 0, {}, {buffer}};
      if (!is_possible(found) || !lowers(found)) continue;
      insert(found);
      return true;
    }
    return false;
  }

 private:
  // The launches that write the buffer before launch `end`.
  void add_writers(Repeat& repeat, int buffer, int end) const {
    for (const Slot* slot : by_buffer_[buffer])
      if (slot->writes() && slot->step < end) repeat.launches.insert(slot->step);
  }

  // Finds the launches and buffers of a repetition, if there is one.
  bool is_possible(Repeat& repeat) const {
    const Slots& uses = by_buffer_[repeat.buffer];
    const auto late = std::find_if(uses.begin(), uses.end(),
                                   [&](const Slot* slot) { return slot->step >= peak_; });
    repeat.at = (*late)->step;
    while (repeat.at > 0 && bound_[repeat.at] && bound_[repeat.at - 1]) --repeat.at;
    if (repeat.at <= peak_) return false;
    add_writers(repeat, repeat.buffer, peak_);
    for (size_t before = 0; before != repeat.launches.size() + repeat.fresh.size();) {
      before = repeat.launches.size() + repeat.fresh.size();
      for (int launch : std::set<int>(repeat.launches))
        if (repeat.launches.size() > kMostLaunches || !can_copy(repeat, launch)) return false;
    }
    return true;
  }

  // Whether the launch can be done again; adds what that needs.
  bool can_copy(Repeat& repeat, int launch) const {
    if (bound_[launch] || !x_.steps[launch]->copy()) return false;
    for (const Slot* slot : by_step_[launch]) {
      const int buffer = slot->buffer;
      if (slot->access == Access::kEither) return false;
      if (slot->access == Access::kWrites && x_.held[buffer]) return false;
      if (slot->access == Access::kReads && !repeat.fresh.count(buffer)) {
        const bool is_there = x_.held[buffer] || x_.buffers[buffer].last >= repeat.at;
        if (is_there && !x_.is_written(by_buffer_[buffer], buffer, launch, repeat.at)) continue;
        if (x_.held[buffer]) return false;
      }
      repeat.fresh.insert(buffer);
      add_writers(repeat, buffer, launch);
    }
    return true;
  }

  // Whether the most that lives at once is less afterwards.
  bool lowers(const Repeat& repeat) const {
    std::vector<int64_t> live = live_;
    const Slots& uses = by_buffer_[repeat.buffer];
    int last = 0;
    for (const Slot* slot : uses)
      if (slot->step < peak_) last = slot->step;
    const int64_t bytes = static_cast<int64_t>(x_.buffers[repeat.buffer].bytes);
    for (int i = last + 1; i < repeat.at; ++i) live[i] -= bytes;
    for (int other : repeat.fresh)
      if (other != repeat.buffer) live[repeat.at] += static_cast<int64_t>(x_.buffers[other].bytes);
    return live[peak_] < live_[peak_] &&
           *std::max_element(live.begin(), live.end()) <= live_[peak_];
  }

  void insert(const Repeat& repeat) {
    const int count = static_cast<int>(repeat.launches.size());
    std::map<int, int> other;  // buffers
    for (int buffer : repeat.fresh) {
      other[buffer] = static_cast<int>(x_.buffers.size());
      times_[other[buffer]] = buffer == repeat.buffer ? times_[buffer] + 1 : kMostTimes;
      x_.buffers.push_back(x_.buffers[buffer]);
      x_.held.push_back(false);
    }
    std::vector<Slot> slots;
    std::vector<std::unique_ptr<Step>> copies;
    for (int launch : repeat.launches) {
      copies.push_back(copy_of(launch, repeat.at + static_cast<int>(copies.size()), slots));
      for (Slot& slot : slots)
        if (slot.step == repeat.at + static_cast<int>(copies.size()) - 1)
          if (const auto place = other.find(slot.buffer); place != other.end())
            slot.buffer = place->second;
    }
    for (Slot& slot : x_.slots) {
      if (slot.step < repeat.at) continue;
      if (slot.buffer == repeat.buffer) slot.buffer = other[repeat.buffer];
      slot.step += count;
    }
    x_.slots.insert(x_.slots.end(), slots.begin(), slots.end());
    x_.steps.insert(x_.steps.begin() + repeat.at, std::make_move_iterator(copies.begin()),
                    std::make_move_iterator(copies.end()));
    x_.set_lives();
  }

  // The copy, whose slots are appended as those of launch `step`.
  std::unique_ptr<Step> copy_of(int launch, int step, std::vector<Slot>& slots) const {
    class Finder final : public PointerVisitor {
     public:
      Finder(const Slots& of_original, int step, std::vector<Slot>& slots)
          : of_original_(of_original), step_(step), slots_(slots) {}
      void refuse(const char*) override {}
      void draw(const Generator&) override {}

     private:
      // Both point to where the elements were when the launch was recorded.
      void elements(char** pointer, Access access) override {
        for (const Slot* slot : of_original_)
          if (*slot->where == *pointer && slot->access == access)
            return slots_.push_back({step_, pointer, slot->buffer, slot->offset, access});
      }
      const void* copy(const void* values, int64_t) override { return values; }

      const Slots& of_original_;
      const int step_;
      std::vector<Slot>& slots_;
    };
    std::unique_ptr<Step> made = x_.steps[launch]->copy();
    made->recorded = x_.steps[launch]->recorded;
    made->scratch_bytes = x_.steps[launch]->scratch_bytes;
    Finder finder(by_step_[launch], step, slots);
    made->visit_pointers(finder);
    for (const Slot* slot : by_step_[launch])
      if (slot->where == &x_.steps[launch]->scratch)
        slots.push_back({step, &made->scratch, slot->buffer, slot->offset, slot->access});
    return made;
  }

  Listing& x_;
  std::map<int, int>& times_;
  std::vector<Slots> by_step_, by_buffer_;
  const std::vector<bool> bound_;
  const std::vector<int64_t> live_;
  int peak_ = 0;
};

}  // namespace

void recompute(Listing& listing) {
  std::map<int, int> times;
  while (Recompute(listing, times).apply()) {
  }
}

}  // namespace tt
