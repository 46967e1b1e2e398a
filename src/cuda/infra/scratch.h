// Memory of the device that lasts as long as a call, and what the host learns from it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tt::cuda {

void* allocate_scratch(size_t bytes);
void release_scratch(void* block, size_t bytes);
// In the order of the current stream: what runs there later may use the memory again, and what was
// launched there before is done when copy_to_host returns.
void copy_to_host(void* to, const void* from, size_t bytes);
void copy_to_device(void* to, const void* from, size_t bytes);  // the host's may then change
// Whether a graph is recorded of what the calling thread launches.
bool is_recording();

// `count` elements, not initialised; null where count is 0.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count) : bytes_(count * sizeof(T)) {
    if (count) data_ = static_cast<T*>(allocate_scratch(bytes_));
  }
  // A copy of what the host has.
  Scratch(const T* host, int64_t count) : Scratch(count) {
    if (count) copy_to_device(data_, host, bytes_);
  }
  ~Scratch() {
    if (data_) release_scratch(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;

  T* data() const { return data_; }
  // The element as the kernels launched so far leave it.
  T fetch(int64_t k = 0) const {
    T value;
    copy_to_host(&value, data_ + k, sizeof value);
    return value;
  }
  void put(const T& value, int64_t k = 0) { copy_to_device(data_ + k, &value, sizeof value); }

 private:
  size_t bytes_;
  T* data_ = nullptr;
};

}  // namespace tt::cuda
