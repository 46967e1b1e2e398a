// The caching allocator: freed blocks wait in free lists for the next request of their size.
//
// glibc gives large blocks back to the kernel at once, so every result would fault its pages in
// anew: measured, a loop over 4 MiB blocks ran 4x slower. Not here: streams, devices other than
// CPU.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tt {

struct AllocatorStatistics {
  int64_t allocated = 0;       // bytes in use
  int64_t peak_allocated = 0;  // most bytes in use since the last reset
  int64_t reserved = 0;        // bytes in use or cached
  int64_t peak_reserved = 0;
  int64_t requests = 0;      // allocations asked for
  int64_t system_calls = 0;  // of them, not served from the cache
};

// Held for some instructions, seldom contended: a fifth of a mutex's cost.
class SpinLock {
 public:
  void lock();
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

class Allocator {
 public:
  static Allocator& instance();

  // 64-byte aligned; throws RuntimeError with the sizes when the system has no more.
  // `release` takes the size that was asked for.
  void* allocate(size_t bytes);
  void release(void* block, size_t bytes);

  void empty_cache();
  AllocatorStatistics statistics();
  void reset_peak();
  // (block size, number of idle blocks) of everything cached.
  std::vector<std::pair<size_t, int64_t>> snapshot();

 private:
  static constexpr size_t kSmall = 64 * 1024;  // up to here, one free list per multiple of 64 bytes
  static constexpr size_t kAlign = 64;

  Allocator();
  static size_t rounded(size_t bytes);
  void* take_cached(size_t bytes);
  void* from_system(size_t bytes);
  void regret(size_t bytes);
  void trim(const void* latest, size_t latest_bytes);
  std::multimap<size_t, void*>::iterator drop(std::multimap<size_t, void*>::iterator block);
  void drop_all();

  SpinLock lock_;
  std::vector<std::vector<void*>> small_{kSmall / kAlign + 1};
  std::multimap<size_t, void*> large_;
  // The true sizes of large blocks that serve a smaller request.
  std::map<void*, size_t> oversized_;
  size_t idle_ = 0;
  // Bytes that trim gave back lately, at request `returned_at_`; of such bytes, those that had to
  // be asked for again, which raise trim's limit.
  size_t returned_ = 0, regretted_ = 0;
  int64_t returned_at_ = 0;
  AllocatorStatistics statistics_;
};

}  // namespace tt
