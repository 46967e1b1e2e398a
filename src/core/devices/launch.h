// Launches: how core/api calls a kernel of the device that an array is on.
//
//   launch(x)(backend_of(x).softmax->softmax, args);   // a kernel of the device's tables
//   launch(x)(kernel, Iter(out, inputs, ...));         // which was looked up in them before
//
// Nothing else touches elements: they may lie in memory that the host cannot reach, or nowhere
// (`meta`): then the kernel is not called.
#pragma once
#include <utility>

#include "core/devices/backend.h"
#include "core/devices/device.h"
#include "core/devices/launch_listener.h"
#include "core/ndarray.h"
#include "core/program/recording.h"

namespace tt {

// The device's own work around a call, which ends with the full expression.
class Launch {
  template <class T>
  struct Given {
    using Type = T;
  };
  template <class T>
  using Same = typename Given<T>::Type;  // of which the compiler deduces nothing

 public:
  explicit Launch(const Device& device) : device_(device) {
    if (device_.begin) device_.begin();
  }
  ~Launch() {
    if (device_.end) device_.end();
  }
  Launch(const Launch&) = delete;

  template <class Result, class... Args>
  Result operator()(Result (*kernel)(Args...), Same<Args>... args) const {
    const Told told(device_, reinterpret_cast<void (*)()>(kernel), walked(args)...);
    if (Recording* const r = recording())
      return r->launch<Result, Args...>(device_, kernel, std::forward<Args>(args)...);
    if (!device_.has_data) return answer_without_data<Result>();
    return kernel(std::forward<Args>(args)...);
  }

 private:
  const Device& device_;
};

inline Launch launch(const NDArray& x) { return Launch(x.device()); }
inline const Backend& backend_of(const NDArray& x) { return *x.device().backend; }

// The elements as a kernel takes them; null for no array.
template <class T = char>
T* data_of(const NDArray* x) {
  return x ? reinterpret_cast<T*>(x->data()) : nullptr;
}
template <class T = char>
T* data_of(const NDArray& x) {
  return data_of<T>(&x);
}
template <class T = char>
T* data_of(const std::optional<NDArray>& x) {
  return x ? data_of<T>(*x) : nullptr;
}

}  // namespace tt
