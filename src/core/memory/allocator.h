// The caching allocator: freed memory waits for the next request.
//
// glibc gives large blocks back to the kernel at once, so every result would fault its pages in
// anew: measured, a loop over 4 MiB blocks ran 4x slower. Blocks over 64 KiB are cut from segments
// of address space, always from the smallest idle chunk that is large enough, and grow together
// with idle neighbours when they are freed: the memory of a training step is within 5 % of what its
// arrays take at the same time. The kernel supplies a segment's pages when they are first touched.
// Idle memory over 64 MiB, or over a quarter of what is in use if that is more, goes back to the
// system, largest chunks first (trim). A request that fails empties the cache and tries again.
// Python asks it by `torch.cpu.memory_allocated` and its like (tiny_torch/compat/cpu/memory.py).
// Not here: streams, and a GPU's memory (cuda/device/allocator.h).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
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

// What the allocator has from the system, part by part.
struct AllocatorBlock {
  const void* address;
  size_t bytes;
  bool idle;
};
struct AllocatorSegment {
  const void*
      address;       // null: small blocks, which come one by one; of them only the idle are known
  size_t bytes;      // of address space
  size_t reserved;   // of them, those that have memory
  size_t allocated;  // of them, those in use
  std::vector<AllocatorBlock> blocks;
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
  // Throws as allocate does if the system has no `bytes`, which are about to be asked for in parts
  // that are each small enough: before any of them is written.
  static void expect(double bytes);

  void empty_cache();
  AllocatorStatistics statistics();
  std::vector<AllocatorSegment> segments();
  void reset_peak();

 private:
  static constexpr size_t kSmall = 64 * 1024;  // up to here, one free list per multiple of 64 bytes
  static constexpr size_t kAlign = 64;
  static constexpr size_t kPage = 2 << 20;  // a huge page: the unit in which memory comes and goes

  struct Segment {
    std::vector<bool> backed;  // for each page, whether it may have memory
    size_t bytes() const { return backed.size() * kPage; }
  };
  // A block in use or idle; chunks lie side by side in their segment.
  struct Chunk {
    size_t bytes;
    bool idle;
  };
  using Segments = std::map<char*, Segment>;
  using Chunks = std::map<char*, Chunk>;

  Allocator();
  static size_t rounded(size_t bytes);
  int64_t idle() const { return statistics_.reserved - statistics_.allocated; }

  void* allocate_small(size_t bytes);
  void* allocate_large(size_t bytes);
  bool add_segment(size_t bytes);
  void back(char* block, size_t bytes);
  void regret(size_t bytes);

  void release_large(char* block);
  void set_idle(Chunks::iterator chunk);
  void set_busy(Chunks::iterator chunk);
  Segments::iterator segment_of(char* address) { return std::prev(segments_.upper_bound(address)); }

  void trim();
  void drop_small();
  void drop_all();
  size_t give_back(Chunks::iterator chunk, size_t most);

  SpinLock lock_;
  std::vector<std::vector<void*>> small_{kSmall / kAlign + 1};
  Segments segments_;
  Chunks chunks_;
  std::set<std::pair<size_t, char*>> idle_chunks_;  // by size, then address
  // Bytes that trim gave back lately, at request `returned_at_`; of such bytes, those that it
  // should have kept, as they had to be asked for again: they raise its limit.
  size_t returned_ = 0, regretted_ = 0;
  int64_t returned_at_ = 0;
  int64_t most_ = 0;   // bytes in use at once since the cache was emptied
  int64_t stuck_ = 0;  // idle bytes that trim could not give back
  AllocatorStatistics statistics_;
};

}  // namespace tt
