// What the entries of the device have in common. Other libraries make other devices the thread's:
// while an entry runs, ours is, and then theirs again. And a process that was forked after the
// device was used cannot use it.
#pragma once
#include "cuda/device/errors.h"

namespace tt::cuda {

class DeviceGuard {
 public:
  DeviceGuard() noexcept {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != kDevice)
      cudaSetDevice(kDevice);
    else
      before_ = kDevice;
  }
  ~DeviceGuard() {
    if (before_ != kDevice) cudaSetDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  static constexpr int kDevice = 0;
  int before_ = kDevice;
};

template <auto function>
struct OnDevice;
template <class Result, class... Args, Result (*function)(Args...)>
struct OnDevice<function> {
  static Result call(Args... args) {
    check_process();
    const DeviceGuard guard;
    return function(args...);
  }
};
// The function as an entry.
template <auto function>
constexpr auto on_device = OnDevice<function>::call;

}  // namespace tt::cuda
