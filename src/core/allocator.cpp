#include "core/allocator.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "core/error.h"

namespace tt {

namespace {

constexpr size_t kMinimumIdle = 64 << 20;
constexpr size_t kHugePage = 2 << 20;
constexpr int64_t kLately = 4096;  // requests

#ifdef TT_SANITIZE
constexpr bool kCached = false;  // overruns and uses after free must be seen
#else
constexpr bool kCached = true;
#endif

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

void* Allocator::take_cached(size_t bytes) {
  if (bytes <= kSmall) {
    auto& list = small_[bytes / kAlign];
    if (list.empty()) return nullptr;
    void* block = list.back();
    list.pop_back();
    idle_ -= bytes;
    return block;
  }
  auto found = large_.lower_bound(bytes);
  if (found == large_.end() || bytes < found->first / 5 * 4) return nullptr;
  auto [size, block] = *found;
  large_.erase(found);
  idle_ -= size;
  if (size != bytes) oversized_[block] = size;
  return block;
}

void* Allocator::from_system(size_t bytes) {
  const bool huge = bytes >= 2 * kHugePage;
  void* block = nullptr;
  if (posix_memalign(&block, huge ? kHugePage : kAlign, bytes) != 0) return nullptr;
  if (huge) madvise(block, bytes, MADV_HUGEPAGE);  // 500x fewer page faults
  return block;
}

void* Allocator::allocate(size_t wanted) {
  if (wanted > static_cast<size_t>(INT64_MAX) - 4096)
    throw RuntimeError("[allocate] ", wanted, " bytes are more than an address can hold");
  const size_t bytes = rounded(wanted);
  std::lock_guard<SpinLock> guard(lock_);
  ++statistics_.requests;
  void* block = take_cached(bytes);
  if (!block) {
    ++statistics_.system_calls;
    regret(bytes);
    block = from_system(bytes);
    if (!block) {
      drop_all();
      block = from_system(bytes);
    }
    if (!block)
      throw RuntimeError("[allocate] not enough memory: you tried to allocate ", wanted, " bytes, ",
                         statistics_.allocated, " bytes are in use");
    statistics_.reserved += bytes;
  }
  auto larger = oversized_.empty() ? oversized_.end() : oversized_.find(block);
  statistics_.allocated += larger == oversized_.end() ? bytes : larger->second;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  statistics_.peak_reserved = std::max(statistics_.peak_reserved, statistics_.reserved);
  return block;
}

void Allocator::release(void* block, size_t wanted) {
  size_t bytes = rounded(wanted);
  std::lock_guard<SpinLock> guard(lock_);
  if (!oversized_.empty()) {
    if (auto found = oversized_.find(block); found != oversized_.end()) {
      bytes = found->second;
      oversized_.erase(found);
    }
  }
  statistics_.allocated -= bytes;
  if (!kCached) {
    statistics_.reserved -= bytes;
    std::free(block);
    return;
  }
  idle_ += bytes;
  if (bytes <= kSmall)
    small_[bytes / kAlign].push_back(block);
  else
    large_.emplace(bytes, block);
  trim(block, bytes);
}

// Memory that was given back lately and is wanted again was given back too early: a training step
// frees its activations and asks for them in the next, and clearing new pages costs a tenth of it.
void Allocator::regret(size_t bytes) {
  if (statistics_.requests - returned_at_ > kLately) returned_ = 0;
  const size_t again = std::min(bytes, returned_);
  returned_ -= again;
  regretted_ += again;
}

// Idle memory over max(64 MiB, a quarter of what is in use) and what was regretted goes back,
// largest blocks first; the block that has just come back stays, if the limit has room for it: a
// loop wants it again at once.
void Allocator::trim(const void* latest, size_t latest_bytes) {
  const size_t limit = std::max<size_t>(kMinimumIdle, statistics_.allocated / 4) + regretted_;
  if (latest_bytes > limit) latest = nullptr;
  for (auto next = large_.end(); idle_ > limit && next != large_.begin();) {
    auto block = std::prev(next);
    if (block->second == latest) {
      next = block;
      continue;
    }
    returned_ += block->first;
    returned_at_ = statistics_.requests;
    next = drop(block);
  }
  for (size_t i = small_.size(); idle_ > limit && i-- > 0;) {
    idle_ -= small_[i].size() * i * kAlign;
    statistics_.reserved -= small_[i].size() * i * kAlign;
    for (void* block : small_[i]) std::free(block);
    small_[i].clear();
  }
}

std::multimap<size_t, void*>::iterator Allocator::drop(
    std::multimap<size_t, void*>::iterator block) {
  idle_ -= block->first;
  statistics_.reserved -= block->first;
  std::free(block->second);
  return large_.erase(block);
}

void Allocator::drop_all() {
  for (auto& list : small_) {
    for (void* block : list) std::free(block);
    list.clear();
  }
  for (auto& [size, block] : large_) std::free(block);
  large_.clear();
  statistics_.reserved -= idle_;
  idle_ = returned_ = regretted_ = 0;
}

void Allocator::empty_cache() {
  std::lock_guard<SpinLock> guard(lock_);
  drop_all();
}

AllocatorStatistics Allocator::statistics() {
  std::lock_guard<SpinLock> guard(lock_);
  return statistics_;
}

void Allocator::reset_peak() {
  std::lock_guard<SpinLock> guard(lock_);
  statistics_.peak_allocated = statistics_.allocated;
  statistics_.peak_reserved = statistics_.reserved;
}

std::vector<std::pair<size_t, int64_t>> Allocator::snapshot() {
  std::lock_guard<SpinLock> guard(lock_);
  std::map<size_t, int64_t> sizes;
  for (size_t i = 0; i < small_.size(); ++i)
    if (!small_[i].empty()) sizes[i * kAlign] += small_[i].size();
  for (auto& [size, block] : large_) ++sizes[size];
  return {sizes.begin(), sizes.end()};
}

}  // namespace tt
