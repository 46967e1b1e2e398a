#include "core/memory/allocator.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "core/error.h"
#include "core/memory/scratch_area.h"

namespace tt {

thread_local ScratchArea* ScratchArea::current = nullptr;

namespace {

constexpr size_t kSegment = 256 << 20;  // the least; of address space, not memory
constexpr size_t kMinimumIdle = 64 << 20;
constexpr int64_t kTrimStep = 16 << 20;
constexpr int64_t kLately = 4096;  // requests

#ifdef TT_SANITIZE
constexpr bool kCached = false;  // overruns and uses after free must be seen
#else
constexpr bool kCached = true;
#endif

[[noreturn]] void refuse(size_t bytes, int64_t in_use) {
  throw RuntimeError("[allocate] not enough memory: you tried to allocate ", bytes, " bytes, ",
                     in_use, " bytes are in use");
}

}  // namespace

void SpinLock::lock() {
  while (taken_.test_and_set(std::memory_order_acquire)) sched_yield();
}

Allocator& Allocator::instance() {
  // Never destroyed: arrays may outlive static destructors.
  static Allocator* allocator = new Allocator();
  return *allocator;
}

Allocator::Allocator() {
  // A fork waits for the lock, so that the child finds it free and the lists whole.
  pthread_atfork([] { instance().lock_.lock(); }, [] { instance().lock_.unlock(); },
                 [] { instance().lock_.unlock(); });
}

size_t Allocator::rounded(size_t bytes) {
  const size_t step = bytes <= kSmall ? kAlign : 4096;
  return std::max((bytes + step - 1) / step * step, kAlign);
}

// ---- taking -------------------------------------------------------------------------------------

void* Allocator::allocate(size_t wanted) {
  if (wanted > static_cast<size_t>(INT64_MAX) - kSegment)
    throw RuntimeError("[allocate] ", wanted, " bytes are more than an address can hold");
  const size_t bytes = rounded(wanted);
  std::lock_guard<SpinLock> guard(lock_);
  ++statistics_.requests;
  const bool small = bytes <= kSmall || !kCached;
  void* block = small ? allocate_small(bytes) : allocate_large(bytes);
  if (!block) {
    drop_all();
    block = small ? allocate_small(bytes) : allocate_large(bytes);
  }
  if (!block) refuse(wanted, statistics_.allocated);
  statistics_.allocated += bytes;
  most_ = std::max(most_, statistics_.allocated);
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  statistics_.peak_reserved = std::max(statistics_.peak_reserved, statistics_.reserved);
  return block;
}

void Allocator::expect(double bytes) {
  if (bytes < kSegment) return;
  const size_t most = bytes < 0x1p62 ? static_cast<size_t>(bytes) : size_t{1} << 62;
  void* const space =
      mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) refuse(most, instance().statistics().allocated);
  munmap(space, most);
}

void* Allocator::allocate_small(size_t bytes) {
  if (kCached) {
    auto& list = small_[bytes / kAlign];
    if (!list.empty()) {
      void* block = list.back();
      list.pop_back();
      return block;
    }
  }
  void* block = nullptr;
  if (posix_memalign(&block, kAlign, bytes) != 0) return nullptr;
  ++statistics_.system_calls;
  statistics_.reserved += bytes;
  return block;
}

void* Allocator::allocate_large(size_t bytes) {
  auto fit = idle_chunks_.lower_bound({bytes, nullptr});
  if (fit == idle_chunks_.end()) {
    if (!add_segment(std::max(bytes, kSegment)) && !add_segment(bytes)) return nullptr;
    fit = idle_chunks_.lower_bound({bytes, nullptr});
  }
  auto chunk = chunks_.find(fit->second);
  set_busy(chunk);
  if (const size_t rest = chunk->second.bytes - bytes) {
    chunk->second.bytes = bytes;
    set_idle(chunks_.emplace(chunk->first + bytes, Chunk{rest, false}).first);
  }
  back(chunk->first, bytes);
  return chunk->first;
}

// One idle chunk of new address space, whose pages have no memory yet.
bool Allocator::add_segment(size_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* const space =
      mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return false;
  const size_t before = -reinterpret_cast<uintptr_t>(space) % kPage;
  char* const base = static_cast<char*>(space) + before;
  if (before) munmap(space, before);
  munmap(base + bytes, kPage - before);
  segments_[base].backed.resize(bytes / kPage);
  set_idle(chunks_.emplace(base, Chunk{bytes, false}).first);
  return true;
}

// Notes that a block's pages now have memory.
void Allocator::back(char* block, size_t bytes) {
  auto& [base, segment] = *segment_of(block);
  size_t first = (block - base) / kPage, last = (block - base + bytes - 1) / kPage;
  while (first <= last && segment.backed[first]) ++first;
  if (first > last) return;
  while (segment.backed[last]) --last;
  size_t added = 0;
  for (size_t i = first; i <= last; ++i) {
    added += segment.backed[i] ? 0 : kPage;
    segment.backed[i] = true;
  }
  if (bytes >= 2 * kPage)  // 500x fewer page faults
    madvise(base + first * kPage, (last - first + 1) * kPage, MADV_HUGEPAGE);
  ++statistics_.system_calls;
  statistics_.reserved += added;
  regret(added);
}

// Memory that was given back lately and is wanted again was given back too early: a training step
// frees its activations and asks for them in the next, and clearing new pages costs a tenth of it.
// But no loop needs more idle than was ever in use.
void Allocator::regret(size_t bytes) {
  if (statistics_.requests - returned_at_ > kLately) returned_ = 0;
  const size_t again = std::min(bytes, returned_);
  returned_ -= again;
  regretted_ = std::min(regretted_ + again, static_cast<size_t>(most_));
}

// ---- giving back --------------------------------------------------------------------------------

void Allocator::release(void* block, size_t wanted) {
  const size_t bytes = rounded(wanted);
  std::lock_guard<SpinLock> guard(lock_);
  statistics_.allocated -= bytes;
  if (!kCached) {
    statistics_.reserved -= bytes;
    std::free(block);
    return;
  }
  if (bytes <= kSmall)
    small_[bytes / kAlign].push_back(block);
  else
    release_large(static_cast<char*>(block));
  trim();
}

// The block becomes one idle chunk with its idle neighbours in the segment.
void Allocator::release_large(char* block) {
  auto chunk = chunks_.find(block);
  const auto next = std::next(chunk);
  if (next != chunks_.end() && next->second.idle && !segments_.count(next->first)) {
    set_busy(next);
    chunk->second.bytes += next->second.bytes;
    chunks_.erase(next);
  }
  if (!segments_.count(block) && std::prev(chunk)->second.idle) {
    const auto previous = std::prev(chunk);
    set_busy(previous);
    previous->second.bytes += chunk->second.bytes;
    chunks_.erase(chunk);
    chunk = previous;
  }
  set_idle(chunk);
}

void Allocator::set_idle(Chunks::iterator chunk) {
  chunk->second.idle = true;
  idle_chunks_.emplace(chunk->second.bytes, chunk->first);
}

void Allocator::set_busy(Chunks::iterator chunk) {
  chunk->second.idle = false;
  idle_chunks_.erase({chunk->second.bytes, chunk->first});
}

// Idle memory over max(64 MiB, a quarter of what is in use) + `regretted_` goes back, that of the
// largest chunks first.
void Allocator::trim() {
  const int64_t limit =
      std::max<int64_t>(kMinimumIdle, statistics_.allocated / 4) + static_cast<int64_t>(regretted_);
  if (idle() <= limit) stuck_ = 0;
  if (idle() <= limit || (stuck_ && idle() <= stuck_ + kTrimStep)) return;
  for (auto next = idle_chunks_.end(); idle() > limit && next != idle_chunks_.begin();) {
    const auto largest = std::prev(next);
    if (const size_t bytes = give_back(chunks_.find(largest->second), idle() - limit)) {
      returned_ += bytes;
      returned_at_ = statistics_.requests;
    }
    next = largest;
  }
  if (idle() > limit) drop_small();
  stuck_ = idle() > limit ? idle() : 0;
}

void Allocator::drop_small() {
  for (size_t i = 0; i < small_.size(); ++i) {
    statistics_.reserved -= small_[i].size() * i * kAlign;
    for (void* block : small_[i]) std::free(block);
    small_[i].clear();
  }
}

// Gives up to `most` bytes of an idle chunk to the system, in whole pages, the last first; answers
// how much it was.
size_t Allocator::give_back(Chunks::iterator chunk, size_t most) {
  auto& [base, segment] = *segment_of(chunk->first);
  const size_t start = chunk->first - base;
  const size_t first = (start + kPage - 1) / kPage, end = (start + chunk->second.bytes) / kPage;
  size_t bytes = 0;
  for (size_t i = end; i > first && bytes < most;) {
    if (!segment.backed[--i]) continue;
    madvise(base + i * kPage, kPage, MADV_DONTNEED);
    segment.backed[i] = false;
    bytes += kPage;
  }
  statistics_.reserved -= bytes;
  return bytes;
}

void Allocator::drop_all() {
  drop_small();
  for (auto idle = idle_chunks_.begin(); idle != idle_chunks_.end();) {
    const auto chunk = chunks_.find(idle->second);
    give_back(chunk, chunk->second.bytes);
    const auto segment = segments_.find(chunk->first);
    if (segment != segments_.end() && segment->second.bytes() == chunk->second.bytes) {
      munmap(segment->first, segment->second.bytes());
      segments_.erase(segment);
      chunks_.erase(chunk);
      idle = idle_chunks_.erase(idle);
    } else {
      ++idle;
    }
  }
  returned_ = regretted_ = 0;
  stuck_ = 0;
  most_ = statistics_.allocated;
}

void Allocator::empty_cache() {
  std::lock_guard<SpinLock> guard(lock_);
  drop_all();
}

AllocatorStatistics Allocator::statistics() {
  std::lock_guard<SpinLock> guard(lock_);
  return statistics_;
}

std::vector<AllocatorSegment> Allocator::segments() {
  std::lock_guard<SpinLock> guard(lock_);
  std::vector<AllocatorSegment> result;
  auto chunk = chunks_.begin();
  size_t large = 0, large_reserved = 0;
  for (const auto& [base, segment] : segments_) {
    const auto backed = std::count(segment.backed.begin(), segment.backed.end(), true);
    AllocatorSegment state{base, segment.bytes(), backed * kPage, 0, {}};
    for (; chunk != chunks_.end() && chunk->first < base + segment.bytes(); ++chunk) {
      state.blocks.push_back({chunk->first, chunk->second.bytes, chunk->second.idle});
      if (!chunk->second.idle) state.allocated += chunk->second.bytes;
    }
    large += state.allocated;
    large_reserved += state.reserved;
    result.push_back(std::move(state));
  }
  const size_t reserved = statistics_.reserved - large_reserved;
  AllocatorSegment small{nullptr, reserved, reserved, statistics_.allocated - large, {}};
  for (size_t i = 0; i < small_.size(); ++i)
    for (const void* block : small_[i]) small.blocks.push_back({block, i * kAlign, true});
  result.push_back(std::move(small));
  return result;
}

void Allocator::reset_peak() {
  std::lock_guard<SpinLock> guard(lock_);
  statistics_.peak_allocated = statistics_.allocated;
  statistics_.peak_reserved = statistics_.reserved;
}

}  // namespace tt
