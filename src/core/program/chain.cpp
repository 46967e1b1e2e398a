#include "core/program/chain.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/error.h"

namespace tt {

namespace {

using Operand = ChainStep::Operand;

// 16 KiB of float32: the operands of an op fit the first cache, those of a chain the second.
constexpr int64_t kBlock = 4096;
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
    if (!x || step.alternative || x->numel <= kBlock || (launches && x->numel != numel))
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
  for (const auto& each : launches_) {
    links_.push_back({reinterpret_cast<Kernel>(each->address()), each->walk(), {}});
    std::fill_n(links_.back().place, Iter::kMaxOperands, kElsewhere);
  }
}

std::vector<int> ChainStep::hide(const std::vector<Buffer>& buffers,
                                 const std::function<bool(int buffer)>& may_move) {
  std::vector<int> hidden, until;  // `until`: the last launch that uses a place
  for (Link& link : links_) std::fill_n(link.place, Iter::kMaxOperands, kElsewhere);
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
    const auto place =
        std::find_if(until.begin(), until.end(), [&](int end) { return end < made.link; });
    const int number = static_cast<int>(place - until.begin());
    if (place == until.end()) until.push_back(0);
    until[number] = last;
    for (const Operand& use : operands_)
      if (use.buffer == made.buffer) links_[use.link].place[use.number] = number;
    hidden.push_back(made.buffer);
  }
  places_ = static_cast<int>(until.size());
  return hidden;
}

bool ChainStep::run() const {
  const int64_t count = blocks(), iters = iters_bytes(), bytes = blocks_bytes();
  const int threads = static_cast<int>(this->threads());
  // Allocated here, since nothing may throw below.
  const Storage parts(threads * iters, cpu_device());
  const Storage memory(std::max<int64_t>(threads * bytes, 1), cpu_device());
  bool stopped = false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    Iter* const own = reinterpret_cast<Iter*>(parts.data + t * iters);
    for (size_t i = 0; i < links_.size(); ++i)
      std::memcpy(static_cast<void*>(own + i), links_[i].iter, sizeof(Iter));
    const int64_t last = count * (t + 1) / threads;
    for (int64_t k = count * t / threads; k < last; ++k) {
      run_block(k * block_, own, memory.data + t * bytes);
      if (t == 0 && interrupt_pending()) __atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
      if (__atomic_load_n(&stopped, __ATOMIC_RELAXED)) break;
    }
  }
  if (stopped) throw_interrupted();
  return true;
}

void ChainStep::run_block(int64_t begin, Iter* parts, char* memory) const {
  const int64_t count = std::min(block_, numel_ - begin);
  for (size_t i = 0; i < links_.size(); ++i) {
    const auto& [kernel, whole, place] = links_[i];
    Iter& part = parts[i];
    const int outer = whole->ndim - 1;
    const int64_t granule = granule_of(*whole);
    part.numel = count;
    part.shape[outer] = count / granule;
    for (int k = 0; k < whole->count; ++k) {
      const Iter::Entry& x = whole->operands[k];
      part.operands[k].data = place[k] == kElsewhere
                                  ? x.data + begin / granule * x.strides[outer]
                                  : memory + place[k] * block_ * int64_t{sizeof(double)};
    }
    kernel(part);
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
