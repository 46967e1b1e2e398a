#include "cuda/device/copies.h"

#include <cstring>

#include "core/devices/gil.h"
#include "cuda/device/errors.h"
#include "cuda/device/faults.h"
#include "cuda/device/graphs.h"
#include "cuda/device/pinned.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

namespace {

constexpr size_t kStaged = size_t{1} << 20;  // bytes that are worth a copy on the host

void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, kind, current_stream));
}

// Until the current stream has done its copy, or the graph that it captures is gone, which does the
// copy each time.
void keep_pinned(const void* address) {
  if (is_capturing(current_stream))
    hold_for_graph(address);
  else
    PinnedMemory::instance().record_stream(address, current_stream);
}

}  // namespace

bool is_recording() { return is_capturing(current_stream); }

void copy_on_device(void* to, const void* from, size_t bytes) {
  copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

// The bytes have been read when it returns. A few of them go by way of pinned memory, so that the
// host need not wait for the kernels before; a graph keeps them, as it copies them each time.
void copy_to_device(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (bytes > kStaged && !is_capturing(current_stream)) {
    const WithoutGil released(true);
    copy(to, from, bytes, cudaMemcpyHostToDevice);
    check(cudaStreamSynchronize(current_stream));
    return;
  }
  PinnedMemory& pinned = PinnedMemory::instance();
  void* const staged = pinned.allocate(bytes);
  std::memcpy(staged, from, bytes);
  copy_to_device_later(to, staged, bytes);
  pinned.release(staged);
}

void copy_to_host(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;  // nothing to wait for
  const WithoutGil released(true);
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(current_stream));
  tell_faults();
}

void copy_to_device_later(void* to, const void* from, size_t bytes) {
  copy(to, from, bytes, cudaMemcpyHostToDevice);
  keep_pinned(from);
}

void copy_to_host_later(void* to, const void* from, size_t bytes) {
  if (!PinnedMemory::instance().contains(to)) return copy_to_host(to, from, bytes);
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
  keep_pinned(to);
}

}  // namespace tt::cuda
