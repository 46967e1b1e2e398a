#include "core/program/chain.h"

#include <algorithm>

#include "core/program/chain_blocks.h"
#include "core/program/chain_kernel.h"

namespace tt {

namespace {

using Operand = ChainStep::Operand;

// Launches between two links that run before the chain.
constexpr int kMostBefore = 2;

// Whether each run of one lies between runs of the other, as the columns of a matrix do.
bool are_apart(const Operand& a, const Operand& b) {
  if (a.period == 0 || a.period != b.period) return false;
  const int64_t shift = (b.first - a.first) % a.period;
  const int64_t behind = shift < 0 ? shift + a.period : shift;
  return a.run <= behind && behind + b.run <= a.period;
}

// Whether one would see another element of the other's than its own.
bool cross(const Operand& a, const Operand& b) {
  if (a.buffer != b.buffer || !(a.writes || b.writes)) return false;
  if (a.last <= b.first || b.last <= a.first || are_apart(a, b)) return false;
  return a.item == 0 || a.item != b.item || a.first != b.first;
}

// Launches that are to be a chain.
class Candidate {
 public:
  ChainStep::Launches launches;
  int end = 0;  // behind the last link

  explicit Candidate(const ChainMaker& maker) : maker_(maker) {}

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
    auto& links = launches.links;
    auto& operands = launches.operands;
    if (!links.empty() && link.numel != links[0].numel) return false;
    std::vector<Operand> found;
    for (size_t k = 0; k < link.operands.size(); ++k) {
      const Link::Operand& x = link.operands[k];
      for (const Slot* slot : slots)
        if (slot->where == x.where)
          found.push_back({static_cast<int>(links.size()), static_cast<int>(k), slot->buffer,
                           slot->offset, slot->offset + x.reach, x.item, x.writes, x.run,
                           x.period});
    }
    for (const Operand& a : operands)
      for (const Operand& b : found)
        if (cross(a, b)) return false;
    if (!maker_.takes(launches, step, link, found)) return false;
    operands.insert(operands.end(), found.begin(), found.end());
    launches.granule = std::max(launches.granule, link.granule);
    links.push_back(std::move(link));
    launches.of_links.push_back(number);
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

  const ChainMaker& maker_;
};

}  // namespace

ChainStep::ChainStep(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first)
    : links_(std::move(launches.links)),
      operands_(std::move(launches.operands)),
      steps_(std::move(steps)),
      used_before_(std::move(launches.used_before)),
      first_(first) {
  auto next = launches.of_links.begin();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const bool is_link = next != launches.of_links.end() && *next == first + static_cast<int>(i);
    (is_link ? of_links_ : before_).push_back(steps_[i].get());
    if (is_link) ++next;
  }
}

void ChainStep::run_before() const {
  for (const Step* step : before_) {
    const ScratchArea area(step->scratch, step->scratch_bytes);
    step->run();
  }
}

std::vector<int> ChainStep::hide(const std::vector<Buffer>& buffers,
                                 const std::function<bool(int buffer)>& may_move) {
  std::vector<Hidden> hidden;
  std::vector<int> numbers;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& made = operands_[i];
    const Buffer& buffer = buffers[made.buffer];
    if (!made.writes || made.item == 0 || buffer.first != first_ || buffer.last != last() ||
        !may_move(made.buffer) ||
        std::count(used_before_.begin(), used_before_.end(), made.buffer) > 0)
      continue;
    // All uses are from here on, of the same elements.
    int until = made.link;
    bool same = true;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& use = operands_[k];
      if (k == i || use.buffer != made.buffer) continue;
      same &= use.link > made.link && use.item == made.item && use.first == made.first;
      until = std::max(until, use.link);
    }
    if (!same) continue;
    hidden.push_back({made.buffer, made.link, until, made.item});
    numbers.push_back(made.buffer);
  }
  place(hidden);
  return numbers;
}

std::unique_ptr<ChainMaker> chain_maker(const Device& device) {
  if (&device == &cpu_device()) return std::make_unique<BlockChains>();
  if (KernelChains::has(device)) return std::make_unique<KernelChains>(*device.backend);
  return nullptr;
}

std::vector<ChainStep*> make_chains(const ChainMaker& maker,
                                    std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers) {
  std::vector<std::vector<const Slot*>> by_step(steps.size());
  for (const Slot& slot : slots) by_step[slot.step].push_back(&slot);
  std::vector<ChainStep*> chains;
  std::vector<std::unique_ptr<Step>> result;
  const int count = static_cast<int>(steps.size());
  for (int first = 0, end; first < count; first = end) {
    Candidate chain(maker);
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
    auto made = maker.make(std::vector<std::unique_ptr<Step>>(from, from + (end - first)),
                           std::move(chain.launches), first);
    chains.push_back(made.get());
    result.push_back(std::move(made));
  }
  steps = std::move(result);
  return chains;
}

}  // namespace tt
