#include "core/program/chain.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/error.h"

namespace tt {

namespace {

using Operand = ChainStep::Operand;

// 4 KiB of float32: what a chain passes on stays in the first cache, also where two threads share
// it.
constexpr int64_t kBlock = 1024;
// Fewer elements are no chain: whole arrays stay in the first cache, too.
constexpr int64_t kFewest = 4096;
// Elements, counted in each launch, that are worth a thread.
constexpr int64_t kGrain = 32768;
// Blocks between two looks at the clock.
constexpr int64_t kOften = 64;
// Elements that stay together, since an operand repeats itself over them: no more than one thread
// takes.
constexpr int64_t kMostTogether = 32768;

// Elements of all dims but the outermost, along which an Iter is cut.
int64_t granule_of(const Iter& x) { return x.numel / x.shape[x.ndim - 1]; }

// Operand `number` of launch `link`, whose first element is at byte `offset` of the buffer.
Operand operand_of(const Iter& x, int link, int number, int buffer, int64_t offset) {
  const Iter::Entry& entry = x.operands[number];
  const int64_t item = itemsize(entry.dtype);
  int64_t reach = item, dense = item;
  bool in_order = true;
  for (int d = 0; d < x.ndim; ++d) {
    in_order &= entry.strides[d] == dense;
    dense *= x.shape[d];
    reach += (x.shape[d] - 1) * entry.strides[d];
  }
  return {link, number, buffer, offset, offset + reach, in_order ? item : 0};
}

// Whether a block of one would see another block of the other.
bool cross(const Operand& a, const Operand& b) {
  if (a.buffer != b.buffer || !(a.writes() || b.writes())) return false;
  if (a.last <= b.first || b.last <= a.first) return false;
  return a.item == 0 || a.item != b.item || a.first != b.first;
}

using SlotsByPlace = std::unordered_map<const void*, const Slot*>;

// Launches that are to be a chain.
struct Candidate {
  std::vector<Operand> operands;
  int64_t numel = 0, granule = 1;
  int launches = 0;

  // Takes the launch in, if it may.
  bool add(Step& step, const SlotsByPlace& slots) {
    const Iter* const x = step.walk();
    if (!x || step.alternative || x->numel <= kFewest || (launches && x->numel != numel))
      return false;
    const int64_t own = granule_of(*x), larger = std::max(own, granule);
    if (larger % std::min(own, granule) != 0 || larger > kMostTogether) return false;
    std::vector<Operand> found;
    for (int k = 0; k < x->count; ++k)
      if (const auto slot = slots.find(&x->operands[k].data); slot != slots.end())
        found.push_back(operand_of(*x, launches, k, slot->second->buffer, slot->second->offset));
    for (const Operand& a : operands)
      for (const Operand& b : found)
        if (cross(a, b)) return false;
    operands.insert(operands.end(), found.begin(), found.end());
    numel = x->numel;
    granule = larger;
    ++launches;
    return true;
  }
};

}  // namespace

ChainStep::ChainStep(std::vector<std::unique_ptr<Step>> launches, std::vector<Operand> operands,
                     int64_t granule, int first, int last)
    : launches_(std::move(launches)),
      operands_(std::move(operands)),
      first_(first),
      last_(last),
      numel_(launches_[0]->walk()->numel),
      block_(std::max(granule, kBlock / granule * granule)) {
  for (const auto& each : launches_)
    links_.push_back({reinterpret_cast<Kernel>(each->address()), each->walk(), {}, {}});
}

std::vector<int> ChainStep::hide(const std::vector<Buffer>& buffers,
                                 const std::function<bool(int buffer)>& may_move) {
  place_bytes_ = 0;
  std::vector<int> hidden;
  struct Place {
    int until;  // the last launch that uses it
    int64_t item;
  };
  std::vector<Place> places;
  for (Link& link : links_) {
    const Iter& x = *link.iter;
    for (int k = 0; k < x.count; ++k) {
      link.place[k] = kElsewhere;
      link.step[k] = block_ / granule_of(x) * x.operands[k].strides[x.ndim - 1];
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& made = operands_[i];
    const Buffer& buffer = buffers[made.buffer];
    if (!made.writes() || made.item == 0 || buffer.first != first_ || buffer.last != last_ ||
        !may_move(made.buffer))
      continue;
    // All uses are from here on, of the same elements.
    int last = made.link;
    bool same = true;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& use = operands_[k];
      if (k == i || use.buffer != made.buffer) continue;
      same &= use.link > made.link && use.item == made.item && use.first == made.first;
      last = std::max(last, use.link);
    }
    if (!same) continue;
    // A kernel may write an element where it has read that of the same size.
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& each) {
      return each.until < made.link || (each.until == made.link && each.item == made.item);
    });
    const int number = static_cast<int>(place - places.begin());
    if (place == places.end()) places.emplace_back();
    places[number] = {last, made.item};
    for (const Operand& use : operands_)
      if (use.buffer == made.buffer) {
        links_[use.link].place[use.number] = number;
        links_[use.link].step[use.number] = 0;
      }
    place_bytes_ = std::max(place_bytes_, block_ * made.item);
    hidden.push_back(made.buffer);
  }
  places_ = static_cast<int>(places.size());
  return hidden;
}

int64_t ChainStep::threads() const {
  const int64_t worth = ceil_div(numel_ * static_cast<int64_t>(links_.size()), kGrain);
  return std::min({int64_t{num_threads()}, blocks(), worth});
}

bool ChainStep::run() const {
  const int64_t count = blocks(), bytes = iters_bytes() + blocks_bytes();
  const int threads = static_cast<int>(this->threads());
  // Allocated here, since nothing may throw below.
  const Storage memory(threads * bytes, cpu_device());
  bool stopped = false;
  const auto run_blocks = [&](int t) {
    char* const own = memory.data + t * bytes;
    Iter* const parts = reinterpret_cast<Iter*>(own);
    const int64_t first = count * t / threads, last = count * (t + 1) / threads;
    begin(first * block_, parts, own + iters_bytes());
    for (int64_t k = first; k < last; ++k) {
      if (k == count - 1) shorten(numel_ - k * block_, parts);
      run_block(parts);
      if (t == 0 && k % kOften == 0 && interrupt_pending())
        __atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
      if (__atomic_load_n(&stopped, __ATOMIC_RELAXED)) break;
    }
  };
  if (threads == 1) {
    run_blocks(0);
  } else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) run_blocks(t);
  }
  if (stopped) throw_interrupted();
  return true;
}

void ChainStep::begin(int64_t first, Iter* parts, char* memory) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    Iter& part = parts[i];
    std::memcpy(static_cast<void*>(&part), link.iter, sizeof part);
    const int outer = part.ndim - 1;
    for (int k = 0; k < part.count; ++k)
      part.operands[k].data = link.place[k] == kElsewhere
                                  ? link.iter->operands[k].data + first / block_ * link.step[k]
                                  : memory + link.place[k] * aligned(place_bytes_);
    part.shape[outer] = block_ / granule_of(*link.iter);
    part.numel = block_;
  }
}

void ChainStep::shorten(int64_t numel, Iter* parts) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    Iter& part = parts[i];
    part.shape[part.ndim - 1] = numel / granule_of(*links_[i].iter);
    part.numel = numel;
  }
}

void ChainStep::run_block(Iter* parts) const {
  for (const Link& link : links_) {
    Iter& part = *parts++;
    link.kernel(part);
    for (int k = 0; k < part.count; ++k) part.operands[k].data += link.step[k];
  }
}

std::vector<ChainStep*> make_chains(std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers) {
  SlotsByPlace places;
  for (const Slot& slot : slots) places[slot.where] = &slot;
  std::vector<ChainStep*> chains;
  std::vector<std::unique_ptr<Step>> result;
  const int count = static_cast<int>(steps.size());
  for (int first = 0, end; first < count; first = end) {
    Candidate chain;
    for (end = first; end < count && chain.add(*steps[end], places);) ++end;
    const auto from = std::make_move_iterator(steps.begin() + first);
    if (chain.launches < 2) {
      end = first + 1;
      if (steps[first]->alternative) end = first + steps[first]->behind + steps[first]->alternative;
      result.insert(result.end(), from, from + (end - first));
      continue;
    }
    const int last = end - 1;
    const auto is_within = [&](int step) { return first <= step && step <= last; };
    for (Buffer& buffer : buffers) {
      if (is_within(buffer.first)) buffer.first = first;
      if (is_within(buffer.last)) buffer.last = last;
    }
    auto made =
        std::make_unique<ChainStep>(std::vector<std::unique_ptr<Step>>(from, from + chain.launches),
                                    chain.operands, chain.granule, first, last);
    chains.push_back(made.get());
    result.push_back(std::move(made));
  }
  steps = std::move(result);
  return chains;
}

}  // namespace tt
