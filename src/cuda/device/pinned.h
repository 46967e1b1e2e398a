// Host memory that the device copies from and to while the host goes on: "pinned", because the
// system may not move it. As of the device's memory, what is released is given out again, once the
// streams that copy it have passed the place that they had reached, and graphs that copy it at each
// replay are gone. Idle memory goes back to the system where it is more than what is in use, and
// more than 256 MiB.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/cuda.h"
#include "cuda/device/events.h"

namespace tt::cuda {

class PinnedMemory {
 public:
  static PinnedMemory& instance();

  void* allocate(size_t bytes);  // null for no bytes
  void release(void* block) noexcept;
  bool contains(const void* address);
  // The stream copies from or to the block that has this address, if there is one.
  void record_stream(const void* address, cudaStream_t stream);

  // A graph copies from or to the block that has this address: the block, or null. It is the
  // graph's until let_go, after replays in these streams.
  void* hold(const void* address);
  void let_go(void* block, const std::set<cudaStream_t>& users) noexcept;

  // Gives back to the system what is not in use.
  void empty_cache();

 private:
  struct Block {
    size_t size;
    std::set<cudaStream_t> users{};
    bool is_released = false;
    int uses = 0, graphs = 0;  // that are not over
  };

  using Blocks = std::map<char*, Block>;
  Blocks::iterator find(const void* address);
  char* take(size_t size);
  void reuse(char* data, Block& block) noexcept;
  void end_use(void* block);
  void add_idle(char* block, size_t size);
  size_t most_idle() const;
  void give_back_idle(size_t most);
  void wait_and_release();

  std::mutex mutex_;
  Blocks blocks_;                              // all
  std::map<size_t, std::vector<char*>> idle_;  // by size
  size_t bytes_ = 0, idle_bytes_ = 0;          // of blocks_, of idle_
  StreamUses uses_;
};

}  // namespace tt::cuda
