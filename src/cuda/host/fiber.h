// Fibers: functions that give the processor away in their middle, each on a stack of its own. The
// threads of an emulated block are such.
#pragma once
#include <cstddef>

namespace tt::emulated {

class Fiber {
 public:
  // `body` is called on the fiber's stack at its first resume(), and must never return: it ends by
  // suspending for good.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;

  void resume();   // runs the body until it suspends
  void suspend();  // from the body: back to who resumed it

  bool owns(const void* address) const {  // whether it lies on the stack
    return address >= stack_ && address < static_cast<const char*>(stack_) + kStack;
  }

 private:
  static constexpr size_t kStack = size_t{1} << 18;

  void* stack_;
  void* own_ = nullptr;     // where the fiber goes on,
  void* caller_ = nullptr;  // and who resumed it
};

}  // namespace tt::emulated
