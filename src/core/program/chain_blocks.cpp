#include "core/program/chain_blocks.h"

#include <algorithm>
#include <cstring>

#include "core/devices/threads.h"
#include "core/error.h"

namespace tt {

namespace {

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

int64_t block_of(const std::vector<Link>& links, int64_t granule) {
  const auto elementwise = [](const Link& link) { return link.elementwise; };
  const bool all = std::all_of(links.begin(), links.end(), elementwise);
  return std::max<int64_t>((all ? kBlock : kBlockOfLines) / granule, 1) * granule;
}

}  // namespace

bool BlockChains::takes(const ChainStep::Launches& before, const Step&, const Link& link,
                        const std::vector<ChainStep::Operand>&) const {
  if (link.numel <= (link.elementwise ? kFewest : kFewestOfLines)) return false;
  const int64_t larger = std::max(link.granule, before.granule);
  return larger % std::min(link.granule, before.granule) == 0 && larger <= kMostTogether;
}

std::unique_ptr<ChainStep> BlockChains::make(std::vector<std::unique_ptr<Step>> steps,
                                             ChainStep::Launches launches, int first) const {
  return std::make_unique<BlockChain>(std::move(steps), std::move(launches), first);
}

BlockChain::BlockChain(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first)
    : ChainStep(std::move(steps), launches, first),
      numel_(links_[0].numel),
      block_(block_of(links_, launches.granule)) {
  for (size_t i = 0; i < links_.size(); ++i) {
    const size_t count = links_[i].operands.size();
    works_.push_back({of_links_[i]->address(), parts_bytes_, std::vector<int>(count),
                      std::vector<int64_t>(count)});
    parts_bytes_ += aligned(links_[i].bytes);
  }
}

// Gives the threads memory for each hidden buffer.
void BlockChain::place(const std::vector<Hidden>& hidden) {
  struct Place {
    int until;  // the last link that uses it
    int64_t item;
  };
  std::vector<Place> places;
  place_bytes_ = 0;
  for (size_t i = 0; i < works_.size(); ++i)
    for (size_t k = 0; k < works_[i].place.size(); ++k) {
      works_[i].place[k] = kElsewhere;
      works_[i].step[k] = block_ / links_[i].granule * links_[i].operands[k].stride;
    }
  for (const Hidden& made : hidden) {
    // An elementwise kernel may write where it has read an element of the same size.
    const bool may_overwrite = links_[made.from].elementwise;
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& each) {
      return each.until < made.from ||
             (may_overwrite && each.until == made.from && each.item == made.item);
    });
    const int number = static_cast<int>(place - places.begin());
    if (place == places.end()) places.emplace_back();
    places[number] = {made.until, made.item};
    for (const Operand& use : operands_)
      if (use.buffer == made.buffer) {
        works_[use.link].place[use.number] = number;
        works_[use.link].step[use.number] = 0;
      }
    place_bytes_ = std::max(place_bytes_, block_ * made.item);
  }
  places_ = static_cast<int>(places.size());
}

int64_t BlockChain::threads() const {
  const int64_t worth = ceil_div(numel_ * static_cast<int64_t>(works_.size()), kGrain);
  return std::min({int64_t{num_threads()}, blocks(), worth});
}

bool BlockChain::run() const {
  run_before();
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

void BlockChain::begin(int64_t first, char* parts, char* memory) const {
  for (size_t i = 0; i < works_.size(); ++i) {
    const Link& link = links_[i];
    const Work& work = works_[i];
    char* const part = parts + work.part;
    std::memcpy(part, link.args, link.bytes);
    for (size_t k = 0; k < link.operands.size(); ++k)
      *link.pointer(part, link.operands[k]) =
          work.place[k] == kElsewhere ? *link.operands[k].where + first / block_ * work.step[k]
                                      : memory + work.place[k] * aligned(place_bytes_);
  }
  cut(block_, parts);
}

void BlockChain::cut(int64_t numel, char* parts) const {
  for (size_t i = 0; i < works_.size(); ++i) links_[i].cut(parts + works_[i].part, numel);
}

void BlockChain::run_block(char* parts) const {
  for (size_t i = 0; i < works_.size(); ++i) {
    const Link& link = links_[i];
    const Work& work = works_[i];
    char* const part = parts + work.part;
    link.call(work.kernel, part);
    for (size_t k = 0; k < work.step.size(); ++k)
      *link.pointer(part, link.operands[k]) += work.step[k];
  }
}

}  // namespace tt
