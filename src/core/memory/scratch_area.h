// The memory that a thread's kernels take as scratch while an area is set, and how much they do.
//
// A program's launches have theirs within its block: src/core/program. What an area has no room
// for comes from the allocator, as everything does where there is none.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tt {

class ScratchArea {
 public:
  ScratchArea(char* data, int64_t bytes) : data_(data), bytes_(bytes), outer_(current) {
    current = this;
  }
  ~ScratchArea() { current = outer_; }
  ScratchArea(const ScratchArea&) = delete;

  // `bytes` behind those that are taken, which go back in the opposite order; null: no room.
  char* take(int64_t bytes) {
    taken_ += bytes;
    most_ = std::max(most_, taken_);
    return taken_ <= bytes_ ? data_ + (taken_ - bytes) : nullptr;
  }
  void give_back(int64_t bytes) { taken_ -= bytes; }
  bool has(const char* block) const { return data_ <= block && block < data_ + bytes_; }
  int64_t most() const { return most_; }

  static thread_local ScratchArea* current;

 private:
  char* const data_;
  const int64_t bytes_;
  ScratchArea* const outer_;
  int64_t taken_ = 0, most_ = 0;
};

}  // namespace tt
