#include "core/program/chain.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/devices/threads.h"
#include "core/error.h"

namespace tt {

namespace {

using Operand = ChainStep::Operand;

// 4 KiB of float32: what a chain passes on stays in the first cache, also where two threads share
// it.
constexpr int64_t kBlock = 1024;
// Where there are lines, whose kernels take longer to begin.
constexpr int64_t kBlockOfLines = 4096;
// Fewer elements are no chain: whole arrays stay in the first cache, too.
constexpr int64_t kFewest = 4096;
// The same of chains with lines, measured next to kernels over arrays in the second cache.
constexpr int64_t kFewestOfLines = 1 << 21;
// Elements, counted in each link, that are worth a thread.
constexpr int64_t kGrain = 32768;
// Blocks between two looks at the clock.
constexpr int64_t kOften = 64;
// Elements that stay together, since an operand repeats itself over them, or as lines: no more than
// one thread takes.
constexpr int64_t kMostTogether = 32768;
// Launches between two links that run before the chain.
constexpr int kMostBefore = 2;

// Whether a block of one would see another block of the other.
bool cross(const Operand& a, const Operand& b) {
  if (a.buffer != b.buffer || !(a.writes || b.writes)) return false;
  if (a.last <= b.first || b.last <= a.first) return false;
  return a.item == 0 || a.item != b.item || a.first != b.first;
}

int64_t block_of(const ChainStep::Launches& launches) {
  const auto elementwise = [](const Link& link) { return link.elementwise; };
  const bool all = std::all_of(launches.links.begin(), launches.links.end(), elementwise);
  return std::max<int64_t>((all ? kBlock : kBlockOfLines) / launches.granule, 1) * launches.granule;
}

// Launches that are to be a chain.
class Candidate {
 public:
  ChainStep::Launches launches;
  int end = 0;  // behind the last link

  // Takes launch `number` in, as a link or as one that runs before all of them, if it may.
  bool add(Step& step, int number, const std::vector<const Slot*>& slots) {
    if (add_link(step, number, slots)) {
      end = number + 1;
      return true;
    }
    if (launches.links.empty() || number - end >= kMostBefore || !may_precede(step, slots))
      return false;
    for (const Slot* slot : slots) launches.used_before.push_back(slot->buffer);
    return true;
  }

 private:
  bool add_link(Step& step, int number, const std::vector<const Slot*>& slots) {
    if (step.alternative || step.scratch_bytes > 0) return false;
    Link link = step.link();
    if (link.operands.empty()) return false;
    if (link.numel <= (link.elementwise ? kFewest : kFewestOfLines)) return false;
    auto& links = launches.links;
    auto& operands = launches.operands;
    if (!links.empty() && link.numel != links[0].numel) return false;
    const int64_t larger = std::max(link.granule, launches.granule);
    if (larger % std::min(link.granule, launches.granule) != 0 || larger > kMostTogether)
      return false;
    std::vector<Operand> found;
    for (size_t k = 0; k < link.operands.size(); ++k) {
      const Link::Operand& x = link.operands[k];
      for (const Slot* slot : slots)
        if (slot->where == x.where)
          found.push_back({static_cast<int>(links.size()), static_cast<int>(k), slot->buffer,
                           slot->offset, slot->offset + x.reach, x.item, x.writes});
    }
    for (const Operand& a : operands)
      for (const Operand& b : found)
        if (cross(a, b)) return false;
    operands.insert(operands.end(), found.begin(), found.end());
    links.push_back(std::move(link));
    launches.of_links.push_back(number);
    launches.granule = larger;
    return true;
  }

  // Whether the links so far neither read what it writes, nor write what it uses. (What is taken
  // before a chain is so for all links: those behind it may read it.)
  bool may_precede(const Step& step, const std::vector<const Slot*>& slots) const {
    if (step.alternative || step.may_differ() || !step.address() || step.flops() > 0) return false;
    for (const Slot* slot : slots)
      for (const Operand& x : launches.operands)
        if (x.buffer == slot->buffer && (x.writes || slot->writes())) return false;
    return true;
  }
};

}  // namespace

ChainStep::ChainStep(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first)
    : steps_(std::move(steps)),
      operands_(std::move(launches.operands)),
      used_before_(std::move(launches.used_before)),
      first_(first),
      numel_(launches.links[0].numel),
      block_(block_of(launches)) {
  auto next = launches.of_links.begin();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (next == launches.of_links.end() || *next != first + static_cast<int>(i)) {
      before_.push_back(steps_[i].get());
      continue;
    }
    ++next;
    Link& link = launches.links[works_.size()];
    const size_t count = link.operands.size();
    const int64_t part = parts_bytes_;
    parts_bytes_ += aligned(link.bytes);
    works_.push_back({std::move(link), steps_[i]->address(), part, std::vector<int>(count),
                      std::vector<int64_t>(count)});
  }
}

std::vector<int> ChainStep::hide(const std::vector<Buffer>& buffers,
                                 const std::function<bool(int buffer)>& may_move) {
  struct Place {
    int until;  // the last link that uses it
    int64_t item;
  };
  std::vector<Place> places;
  std::vector<int> hidden;
  place_bytes_ = 0;
  for (Work& work : works_)
    for (size_t k = 0; k < work.place.size(); ++k) {
      work.place[k] = kElsewhere;
      work.step[k] = block_ / work.link.granule * work.link.operands[k].stride;
    }
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& made = operands_[i];
    const Buffer& buffer = buffers[made.buffer];
    if (!made.writes || made.item == 0 || buffer.first != first_ || buffer.last != last() ||
        !may_move(made.buffer) ||
        std::count(used_before_.begin(), used_before_.end(), made.buffer) > 0)
      continue;
    // All uses are from here on, of the same elements.
    int end = made.link;
    bool same = true;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& use = operands_[k];
      if (k == i || use.buffer != made.buffer) continue;
      same &= use.link > made.link && use.item == made.item && use.first == made.first;
      end = std::max(end, use.link);
    }
    if (!same) continue;
    // An elementwise kernel may write where it has read an element of the same size.
    const bool may_overwrite = works_[made.link].link.elementwise;
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& each) {
      return each.until < made.link ||
             (may_overwrite && each.until == made.link && each.item == made.item);
    });
    const int number = static_cast<int>(place - places.begin());
    if (place == places.end()) places.emplace_back();
    places[number] = {end, made.item};
    for (const Operand& use : operands_)
      if (use.buffer == made.buffer) {
        works_[use.link].place[use.number] = number;
        works_[use.link].step[use.number] = 0;
      }
    place_bytes_ = std::max(place_bytes_, block_ * made.item);
    hidden.push_back(made.buffer);
  }
  places_ = static_cast<int>(places.size());
  return hidden;
}

int64_t ChainStep::threads() const {
  const int64_t worth = ceil_div(numel_ * static_cast<int64_t>(works_.size()), kGrain);
  return std::min({int64_t{num_threads()}, blocks(), worth});
}

bool ChainStep::run() const {
  for (const Step* step : before_) {
    const ScratchArea area(step->scratch, step->scratch_bytes);
    step->run();
  }
  const int64_t count = blocks(), bytes = parts_bytes_ + blocks_bytes();
  const int threads = static_cast<int>(this->threads());
  // Allocated here, since nothing may throw below.
  const Storage memory(threads * bytes, cpu_device());
  bool stopped = false;
  const auto run_blocks = [&](int t) {
    char* const parts = memory.data + t * bytes;
    const int64_t first = count * t / threads, last = count * (t + 1) / threads;
    begin(first * block_, parts, parts + parts_bytes_);
    for (int64_t k = first; k < last; ++k) {
      if (k == count - 1) cut(numel_ - k * block_, parts);
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

void ChainStep::begin(int64_t first, char* parts, char* memory) const {
  for (const Work& work : works_) {
    const auto& operands = work.link.operands;
    std::memcpy(parts + work.part, work.link.args, work.link.bytes);
    for (size_t k = 0; k < operands.size(); ++k)
      *work.link.pointer(parts + work.part, operands[k]) =
          work.place[k] == kElsewhere ? *operands[k].where + first / block_ * work.step[k]
                                      : memory + work.place[k] * aligned(place_bytes_);
  }
  cut(block_, parts);
}

void ChainStep::cut(int64_t numel, char* parts) const {
  for (const Work& work : works_) work.link.cut(parts + work.part, numel);
}

void ChainStep::run_block(char* parts) const {
  for (const Work& work : works_) {
    char* const part = parts + work.part;
    work.link.call(work.kernel, part);
    for (size_t k = 0; k < work.step.size(); ++k)
      *work.link.pointer(part, work.link.operands[k]) += work.step[k];
  }
}

std::vector<ChainStep*> make_chains(std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers) {
  std::vector<std::vector<const Slot*>> by_step(steps.size());
  for (const Slot& slot : slots) by_step[slot.step].push_back(&slot);
  std::vector<ChainStep*> chains;
  std::vector<std::unique_ptr<Step>> result;
  const int count = static_cast<int>(steps.size());
  for (int first = 0, end; first < count; first = end) {
    Candidate chain;
    for (int i = first; i < count && chain.add(*steps[i], i, by_step[i]);) ++i;
    end = chain.end;
    const auto from = std::make_move_iterator(steps.begin() + first);
    if (chain.launches.links.size() < 2) {
      end = first + 1;
      if (steps[first]->alternative) end = first + steps[first]->behind + steps[first]->alternative;
      result.insert(result.end(), from, from + (end - first));
      continue;
    }
    const auto is_within = [&](int step) { return first <= step && step < end; };
    for (Buffer& buffer : buffers) {
      if (is_within(buffer.first)) buffer.first = first;
      if (is_within(buffer.last)) buffer.last = end - 1;
    }
    auto made =
        std::make_unique<ChainStep>(std::vector<std::unique_ptr<Step>>(from, from + (end - first)),
                                    std::move(chain.launches), first);
    chains.push_back(made.get());
    result.push_back(std::move(made));
  }
  steps = std::move(result);
  return chains;
}

}  // namespace tt
