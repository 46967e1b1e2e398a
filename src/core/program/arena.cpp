// The plan of memory: where each buffer of a program lies.
//
// Results have memory of their own, what is kept for another program has a block, and the rest
// shares one by its lifetimes. On the way chains hide what only they use, and gradients take the
// place of what they are made from.
#include <algorithm>

#include "core/program/program.h"

namespace tt {

// Between which cuts a launch is.
int Program::piece_of(int launch) const {
  return static_cast<int>(std::count_if(launches_.begin(), launches_.begin() + std::max(launch, 0),
                                        [](const Launch& x) { return x.is_cut; }));
}

int64_t Program::most_at_once(const std::vector<int>& buffers) const {
  std::vector<int64_t> change(launches_.size() + 1, 0);
  for (int i : buffers) {
    change[buffers_[i].first] += static_cast<int64_t>(buffers_[i].bytes);
    change[buffers_[i].last + 1] -= static_cast<int64_t>(buffers_[i].bytes);
  }
  int64_t bytes = 0, most = 0;
  for (int64_t each : change) most = std::max(most, bytes += each);
  return most;
}

int64_t Program::lowest_place(int buffer, const std::vector<int>& placed) const {
  const Buffer& x = buffers_[buffer];
  int64_t offset = 0;
  for (int other : placed) {
    const Buffer& there = buffers_[other];
    if (there.last < x.first || x.last < there.first) continue;
    if (offset + aligned(x.bytes) <= places_[other].offset) break;
    offset = std::max(offset, places_[other].offset + aligned(there.bytes));
  }
  return offset;
}

// Gives every buffer a place, and every region its pointers. Large buffers go first, each to the
// lowest address where no other is in use at the same time: of the smallest result that is made
// later, such as a gradient, if there is one; or else of the block.
void Program::plan() {
  used_.assign(written_.size(), false);
  sizes_.assign(kFirstExternal + written_.size(), 0);
  pieces_.assign(sizes_.size(), 0);
  places_.assign(buffers_.size(), {kTemporary, -1});
  std::vector<int> results;
  for (const Output& output : outputs_) {
    const Buffer& buffer = buffers_[output.buffer];
    Place& place = places_[output.buffer];
    if (buffer.external != Buffer::kBorn || place.offset >= 0) continue;
    place = {static_cast<int>(sizes_.size()), 0};
    sizes_.push_back(buffer.bytes);
    pieces_.push_back(piece_of(buffer.first));
    results.push_back(output.buffer);
  }
  std::vector<bool> hidden(buffers_.size(), false);
  const auto may_move = [&](int i) {
    return buffers_[i].external == Buffer::kBorn && places_[i].offset < 0 && !wanted_[i];
  };
  for (ChainStep* chain : chains_)
    for (int i : chain->hide(buffers_, may_move)) hidden[i] = true;
  std::vector<int> temporary;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.external != Buffer::kBorn) {
      places_[i] = {kFirstExternal + buffer.external, -buffer.at};
      used_[buffer.external] = used_[buffer.external] || buffer.first >= 0;
    } else if (places_[i].offset >= 0 || buffer.first < 0 || hidden[i]) {
      continue;
    } else if (wanted_[i]) {
      places_[i] = {kKept, sizes_[kKept]};
      sizes_[kKept] += aligned(buffer.bytes);
    } else {
      temporary.push_back(static_cast<int>(i));
    }
  }
  passed_.erase(passed_.begin() + changes_, passed_.end());
  const auto note = [&](Pass pass, int64_t bytes) {
    if (passes_.has(pass)) passed_.push_back({name_of(pass), steps(), bytes});
  };
  note(Pass::Chains, most_at_once(temporary));
  // What is written over another takes its place, which is needed for longer.
  std::vector<Overwrite> taken;
  for (const Overwrite& x : overwrites_) {
    if (!passes_.has(Pass::InPlace)) break;
    const auto to = std::find(temporary.begin(), temporary.end(), x.to);
    const auto from = std::find(temporary.begin(), temporary.end(), x.from);
    if (to == temporary.end() || from == temporary.end() || buffers_[x.from].last != x.step ||
        buffers_[x.to].first != x.step)
      continue;
    buffers_[x.from].last = buffers_[x.to].last;
    temporary.erase(to);
    taken.push_back(x);
  }
  note(Pass::InPlace, most_at_once(temporary));
  std::stable_sort(temporary.begin(), temporary.end(),
                   [&](int a, int b) { return buffers_[a].bytes > buffers_[b].bytes; });
  std::stable_sort(results.begin(), results.end(),
                   [&](int a, int b) { return buffers_[a].bytes < buffers_[b].bytes; });
  std::vector<std::vector<int>> placed(sizes_.size());  // by region and address
  for (int i : temporary) {
    const Buffer& buffer = buffers_[i];
    Place& place = places_[i];
    for (int result : results) {
      if (!passes_.has(Pass::Arena)) break;
      if (buffers_[result].bytes < buffer.bytes || buffers_[result].first <= buffer.last) continue;
      const int region = places_[result].region;
      if (pieces_[region] > piece_of(buffer.first)) continue;
      place = {region, lowest_place(i, placed[region])};
      if (place.offset + int64_t(buffer.bytes) <= sizes_[region]) break;
      place = {kTemporary, -1};
    }
    if (place.region == kTemporary) {
      place.offset =
          passes_.has(Pass::Arena) ? lowest_place(i, placed[kTemporary]) : sizes_[kTemporary];
      sizes_[kTemporary] = std::max(sizes_[kTemporary], place.offset + aligned(buffer.bytes));
    }
    auto& there = placed[place.region];
    const auto is_below = [&](int a, int b) { return places_[a].offset < places_[b].offset; };
    there.insert(std::upper_bound(there.begin(), there.end(), i, is_below), i);
  }
  note(Pass::Arena, sizes_[kTemporary]);
  for (const Overwrite& x : taken) {
    places_[x.to] = places_[x.from];
    buffers_[x.from].last = x.step;
  }
  for (const auto& [alias, of] : aliases_) used_[alias] = used_[of];
  pointers_.assign(sizes_.size(), {});
  bases_.assign(sizes_.size(), nullptr);
  temporary_ = {};
  graph_ = nullptr;
  for (const Slot& slot : slots_) {
    if (hidden[slot.buffer]) continue;
    const Place& place = places_[slot.buffer];
    pointers_[place.region].emplace_back(slot.where, place.offset + slot.offset);
  }
}

}  // namespace tt
