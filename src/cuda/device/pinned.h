// Host memory that the device copies from and to while the host goes on: "pinned", because the
// system may not move it. As of the device's memory, what is released is given out again, once the
// streams that copy it have passed the place that they had reached.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/cuda.h"

namespace tt::cuda {

class PinnedMemory {
 public:
  static PinnedMemory& instance();

  void* allocate(size_t bytes);  // null for no bytes
  void release(void* block) noexcept;
  bool contains(const void* address);
  // The stream copies from or to the block that has this address, if there is one.
  void record_stream(const void* address, cudaStream_t stream);

 private:
  struct Block {
    size_t size;
    std::set<cudaStream_t> users{};
  };
  struct Waiting {
    cudaEvent_t event;
    char* block;
  };

  using Blocks = std::map<char*, Block>;
  Blocks::iterator find(const void* address);
  void reuse_passed();

  std::mutex mutex_;
  Blocks blocks_;                              // all
  std::map<size_t, std::vector<char*>> idle_;  // by size
  std::vector<Waiting> waiting_;
  std::map<char*, int> events_;  // of a block that have not passed
};

}  // namespace tt::cuda
