#include "cuda/device/events.h"

#include <mutex>
#include <utility>
#include <vector>

#include "cuda/device/errors.h"

namespace tt::cuda {

namespace {

std::mutex mutex;

// Those that nobody has.
std::vector<cudaEvent_t>& idle() {
  static auto& all = *new std::vector<cudaEvent_t>;  // tensors may outlive static variables
  return all;
}

}  // namespace

OwnEvent::OwnEvent() {
  {
    const std::lock_guard lock(mutex);
    if (!idle().empty()) {
      native_ = idle().back();
      idle().pop_back();
      return;
    }
  }
  check(cudaEventCreateWithFlags(&native_, cudaEventDisableTiming));
}

OwnEvent::~OwnEvent() {
  if (!native_) return;
  const std::lock_guard lock(mutex);
  idle().push_back(native_);
}

OwnEvent::OwnEvent(OwnEvent&& other) noexcept : native_(std::exchange(other.native_, nullptr)) {}
OwnEvent& OwnEvent::operator=(OwnEvent&& other) noexcept {
  std::swap(native_, other.native_);
  return *this;
}

bool record_outside_captures(const OwnEvent& event, cudaStream_t stream) {
  const std::lock_guard lock(capture_mutex());
  if (is_capturing(stream)) return false;
  check(cudaEventRecord(event, stream));
  return true;
}

// Where CUDA fails, as after a fault, the use never ends.
void StreamUses::add(void* block, cudaStream_t stream) noexcept try {
  Use use{block, {}, false};
  try {
    record(stream, use);
  } catch (const Error&) {
  }
  of_streams_[stream].push_back(std::move(use));
  ++count_;
} catch (const Error&) {
}

}  // namespace tt::cuda
