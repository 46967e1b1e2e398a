// What the threads of a block read and write: which addresses they may, and for shared memory who
// did so last, which shows reads of what nobody wrote and races.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cuda/host/emulator.h"

namespace tt::emulated {

enum class Access { Read, Write, Atomic };

// Called before an access (hooks.cpp); outside of kernels it does nothing.
void check(const void* address, size_t bytes, Access kind, void* place);
bool is_in_kernel();
// Ends the running kernel; only from within one.
[[noreturn]] void fail(const std::string& what, void* place);

class Accesses {
 public:
  void open(const Launch& what, const char* dynamic);
  void begin_block();
  void block_met();         // all threads have passed a barrier
  void warp_met(int warp);  // all lanes have passed __syncwarp

  // What is wrong with the access, or "". By thread number `thread` of the block, of memory that is
  // not its own stack; `place` is where it does so.
  std::string fault(const void* address, size_t bytes, Access kind, int thread, void* place);
  // Memory of the host that kernels may read and write.
  void map(const void* block, size_t bytes) {
    const char* const begin = static_cast<const char*>(block);
    mapped_.push_back({begin, begin + bytes});
  }
  // Shared memory that was written is as if it had not been.
  void forget_writes(const void* address, size_t bytes);

 private:
  struct Range {
    const char *begin = nullptr, *end = nullptr;

    bool has(const void* address, size_t bytes) const {
      const char* const at = static_cast<const char*>(address);
      return begin <= at && at + bytes <= end;
    }
    bool has(const void* address) const { return begin <= address && address < end; }
  };

  // A time counts barriers, of all blocks that have run.
  using Time = uint64_t;
  // Who last wrote and read a byte of shared memory, when, and where in the kernel's code. Readers
  // may be several.
  struct Byte {
    Time written = 0, read = 0;
    Time writer_warp_time = 0, reader_warp_time = 0;
    uint32_t writer_place = 0, reader_place = 0;
    int16_t writer = 0, reader = 0;
    bool written_atomically = false;
  };
  static constexpr int16_t kSeveral = -1, kSeveralInWarp = -2;

  Byte* byte_of(const void* shared);
  std::string take_static(const Byte* first, size_t bytes);
  std::string shared_fault(const char* where, size_t bytes, Access kind, int thread, void* place,
                           Byte* to);
  bool are_ordered(Time then, Time warp_then, int other, int thread) const;
  void count(size_t bytes, int thread);

  // A library that holds kernels.
  struct Module {
    Range statics;
    std::vector<Range> read_only;                                        // its code, too
    std::unique_ptr<Byte[], void (*)(void*)> bytes{nullptr, std::free};  // of statics; 0 at first
  };

  Module& module_of(const void* code);

  Range arguments_, dynamic_;
  std::vector<Range> mapped_;
  std::vector<Byte> dynamic_bytes_;
  std::vector<Module> modules_;
  Module* module_ = nullptr;  // of the running kernel
  Time now_ = 1, block_began_ = 1;
  size_t static_bytes_ = 0;  // of static shared memory, those that the block has written
  std::vector<Time> warp_times_;
  std::vector<uint64_t> bytes_;  // taken by each thread of the block
};

}  // namespace tt::emulated
