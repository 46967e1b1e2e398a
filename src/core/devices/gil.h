// Lets long kernels run while other Python threads do. The core knows no Python: bindings/ fills
// the pointers in. Releasing costs 75 ns, so it is done above a grain only.
#pragma once
#include <cstdint>

namespace tt {

struct GilHooks {
  void* (*release)() = nullptr;
  void (*acquire)(void* state) = nullptr;
  bool (*interrupted)() = nullptr;  // with or without the GIL
};
inline GilHooks gil_hooks;

constexpr int64_t kGilGrain = 32768;  // elements of simple work

class WithoutGil {
 public:
  explicit WithoutGil(bool release)
      : released_(release && gil_hooks.release),
        state_(released_ ? gil_hooks.release() : nullptr) {}
  ~WithoutGil() {
    if (released_) gil_hooks.acquire(state_);
  }
  WithoutGil(const WithoutGil&) = delete;

 private:
  bool released_;
  void* state_;
};

}  // namespace tt
