// The memory of the emulated device, half as much as the host's. The host can reach it during
// launches and copies only, and of every byte it is known whether it belongs to a block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tt::emulated {

class Memory {
 public:
  static Memory& instance();

  // 256-byte aligned, with unused bytes behind. Null where there is no more.
  void* allocate(size_t bytes);
  bool release(void* block);  // whether it is one

  size_t total() const { return total_; }
  size_t in_use() const { return in_use_; }

  // Between them the memory may be read and written.
  void begin();
  void end();

  bool contains(const void* address) const {
    return static_cast<size_t>(static_cast<const char*>(address) - space_) < kSpace;
  }
  // Whether all of the bytes, which `contains` their address, belong to a block. Those of an access
  // of a kernel: at most 16, of an aligned address, and so within two words of the map.
  bool is_valid(const void* address, size_t bytes) const {
    const size_t at = static_cast<const char*>(address) - space_;
    for (size_t word = at / kWord; word * kWord < at + bytes; ++word) {
      const size_t end = at + bytes - word * kWord;
      if ((valid_[word] & ~kHosts) < (end < kWord ? end : kWord)) return false;
    }
    return true;
  }
  // Kernels may not write to the whole words of it, until the block is released.
  void keep_from_kernels(void* data, size_t bytes);
  bool is_kept_from_kernels(const void* address) const {
    return valid_[(static_cast<const char*>(address) - space_) / kWord] & kHosts;
  }
  // "8 bytes behind a block of 400 bytes"
  std::string describe(const void* address) const;

 private:
  static constexpr size_t kSpace = size_t{1} << 36, kAlign = 256, kWord = 8;
  static constexpr uint8_t kHosts = 0x80;  // of a word's entry in the map

  Memory();
  void protect(int how);
  void mark(size_t offset, size_t bytes, bool valid);
  static size_t rounded(size_t bytes) { return (bytes + kAlign) / kAlign * kAlign; }

  std::mutex mutex_;
  char* space_;
  uint8_t* valid_;                             // of each word of 8 bytes, how many are a block's
  std::map<size_t, size_t> blocks_;            // in use: offset > bytes
  std::map<size_t, std::vector<char*>> idle_;  // by size
  const size_t total_;
  size_t used_ = 0, in_use_ = 0;  // of the space; of all blocks
  int open_ = 0;                  // launches and copies that run
};

}  // namespace tt::emulated
