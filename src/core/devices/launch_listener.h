// Who is told of each kernel that is launched: nobody, unless a line is explained
// (tiny_torch/tools/explaining). Then a launch costs one load more than without.
#pragma once
#include <atomic>

namespace tt {

struct Device;
struct Iter;

struct LaunchListener {
  // A kernel begins, which an Iter walks for or null; and ends.
  void (*begun)(const Device& device, void (*kernel)(), const Iter* iter);
  void (*ended)();
};

extern std::atomic<const LaunchListener*> launch_listener;

// Whether this thread has asked num_threads() since it was asked this: kernels do so where their
// work is worth more than one thread.
bool has_asked_for_threads();  // threads.cpp

// What the listener hears of one call.
class Told {
 public:
  template <class... Walked>
  Told(const Device& device, void (*kernel)(), Walked... walked)
      : listener_(launch_listener.load(std::memory_order_relaxed)) {
    if (!listener_) return;
    const Iter* iter = nullptr;
    ((iter = walked ? walked : iter), ...);
    listener_->begun(device, kernel, iter);
  }
  ~Told() {
    if (listener_) listener_->ended();
  }
  Told(const Told&) = delete;

 private:
  const LaunchListener* const listener_;
};

// The argument, if it is what an elementwise kernel walks over.
inline const Iter* walked(const Iter& iter) { return &iter; }
template <class Argument>
const Iter* walked(const Argument&) {
  return nullptr;
}

}  // namespace tt
