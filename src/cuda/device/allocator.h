// The device's memory. Asking CUDA for some, and giving it back, waits for the whole device; so
// what is released is kept, and given out again.
//
// A block is released by ~Storage (core/memory/storage.cpp), when the last array lets go of it. It
// belongs to the stream on which it was allocated, and serves that stream at once, because what is
// launched there later runs later; it is never given to another. Where another stream uses it, too
// (record_stream), it first waits until that has passed the place that it had reached.
//
// Memory comes from CUDA in segments: 2 MiB for blocks up to 1 MiB, 20 MiB for those below 10 MiB.
// Blocks are split off a segment, and merge with their neighbours as these become free.
//
// A graph replays with the addresses that it was captured with. So what is allocated during a
// capture comes from a pool that is the graph's alone.
//
// PYTORCH_NO_CUDA_MEMORY_CACHING=1 asks CUDA for each block. On the emulator that is the default,
// which =0 changes: it knows then of every byte whether it belongs to a block, and when.
#pragma once
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/devices/accelerator.h"
#include "cuda/cuda.h"
#include "cuda/device/events.h"

namespace tt::cuda {

class Allocator {
 public:
  static Allocator& instance();

  // Memory for the current stream. OutOfMemoryError where there is no more.
  void* allocate(size_t bytes);
  void release(void* data) noexcept;
  void record_stream(void* data, cudaStream_t stream);

  // Gives back to CUDA what is not in use.
  void empty_cache();
  void set_memory_fraction(double fraction);

  MemoryStatistics statistics();
  void reset_peaks();
  void reset_counts();

  // The number of a pool for graphs, which holds memory as long as one of them lives.
  int64_t new_pool();
  // What streams that capture ask for comes from this pool until end_capture.
  void begin_capture(int64_t pool);
  void end_capture();
  void release_pool(int64_t pool);  // once for each begin_capture

  // The parts of a pool's segments that are free, or that are in use.
  using Span = std::pair<char*, size_t>;
  std::vector<Span> spans_of(int64_t pool, bool free);

 private:
  struct Pool;
  // A segment, or a part of one.
  struct Block {
    char* data;
    size_t size, requested;
    cudaStream_t stream;
    Pool* pool;  // null: it did not come from a segment
    bool is_small = false;
    Block *previous = nullptr, *next = nullptr;  // its neighbours in the segment
    bool is_free = false;
    std::set<cudaStream_t> users{};  // other streams
    int uses = 0;                    // of theirs that are not over
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeBlocks = std::set<Block*, BySize>;
  struct Pool {
    FreeBlocks small, large;
    int graphs = 0;  // that use it, and captures
  };

  Allocator();
  static FreeBlocks& free_of(const Block& block) {
    return block.is_small ? block.pool->small : block.pool->large;
  }

  Pool& pool_for(cudaStream_t stream);
  Block* take(FreeBlocks& from, cudaStream_t stream, size_t size);
  Block* new_segment(Pool& pool, cudaStream_t stream, size_t size);
  Block* take(cudaStream_t stream, size_t bytes);
  Block* take_or_ask(cudaStream_t stream, size_t bytes);
  Block* use(Block* block, size_t size, size_t bytes);
  template <class Ask>
  void* from_cuda(size_t bytes, const Ask& ask);
  void split(Block* block, size_t size);
  [[noreturn]] void fail(size_t bytes);

  void free_after_users(Block* block);
  void free_in_order(Block* block);
  void free(Block* block);
  void merge(Block* block, Block* neighbour);
  void free_deferred();
  void free_unused();       // blocks whose users have passed
  void wait_and_release();  // all that is free, after waiting for users

  std::mutex mutex_;
  const bool caches_;
  size_t allowed_ = SIZE_MAX;  // of the device's memory
  std::unordered_map<void*, Block*> used_;
  StreamUses uses_;
  std::map<int64_t, Pool> pools_;  // 0: what no graph owns
  int64_t last_pool_ = 0, capturing_ = 0;
  std::vector<Block*> deferred_;  // without pool, to be freed after a capture
  MemoryStatistics statistics_{};
};

}  // namespace tt::cuda
