#include "cuda/device/copies.h"

#include <cstring>

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

}  // namespace

bool is_recording() { return is_capturing(current_stream); }

void copy_on_device(void* to, const void* from, size_t bytes) {
  copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

// The bytes have been read when it returns. A few of them go by way of pinned memory, so that the
// host need not wait for the kernels before; a graph keeps them, as it copies them each time.
void copy_to_device(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const bool captures = is_capturing(current_stream);
  if (bytes > kStaged && !captures) {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
    check(cudaStreamSynchronize(current_stream));
    return;
  }
  PinnedMemory& pinned = PinnedMemory::instance();
  void* const staged = pinned.allocate(bytes);
  std::memcpy(staged, from, bytes);
  copy(to, staged, bytes, cudaMemcpyHostToDevice);
  if (captures) return keep_for_graph(staged);
  pinned.record_stream(staged, current_stream);
  pinned.release(staged);
}

void copy_to_host(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;  // nothing to wait for
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(current_stream));
  tell_faults();
}

void copy_to_device_later(void* to, const void* from, size_t bytes) {
  copy(to, from, bytes, cudaMemcpyHostToDevice);
  if (!is_capturing(current_stream)) PinnedMemory::instance().record_stream(from, current_stream);
}

void copy_to_host_later(void* to, const void* from, size_t bytes) {
  PinnedMemory& pinned = PinnedMemory::instance();
  if (!pinned.contains(to)) return copy_to_host(to, from, bytes);
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
  if (!is_capturing(current_stream)) pinned.record_stream(to, current_stream);
}

}  // namespace tt::cuda
