#include "cuda/device/streams.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/device/errors.h"
#include "cuda/device/events.h"

namespace tt::cuda {

namespace {

constexpr size_t kStreams = 32;  // of a priority, given out in turns

struct Stream {
  cudaStream_t native;
  int priority;
};

struct Streams {
  std::mutex mutex;
  std::vector<Stream> all{{nullptr, 0}};  // by handle
  struct Pool {
    std::vector<int64_t> handles;
    size_t given = 0;
  };
  std::map<int, Pool> pools;  // by priority
};

Streams& streams() {
  static auto& all = *new Streams;  // tensors may outlive static variables
  return all;
}

thread_local int64_t current = 0;

Stream at(int64_t handle) {
  const std::lock_guard lock(streams().mutex);
  const auto& all = streams().all;
  if (handle < 0 || handle >= static_cast<int64_t>(all.size()))
    throw RuntimeError("there is no stream ", handle);
  return all[handle];
}

}  // namespace

int64_t new_stream(int priority) {
  check_device();
  int least, greatest;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  priority = std::clamp(priority, greatest, least);
  const std::lock_guard lock(streams().mutex);
  Streams::Pool& pool = streams().pools[priority];
  if (pool.handles.size() < kStreams) {
    Stream stream{nullptr, priority};
    check(cudaStreamCreateWithPriority(&stream.native, cudaStreamNonBlocking, priority));
    pool.handles.push_back(streams().all.size());
    streams().all.push_back(stream);
  }
  return pool.handles[pool.given++ % kStreams];
}

cudaStream_t stream_of(int64_t handle) { return handle == 0 ? nullptr : at(handle).native; }
int priority_of(int64_t handle) { return at(handle).priority; }

int64_t current_handle() { return current; }
void set_stream(int64_t handle) {
  current_stream = stream_of(handle);
  current = handle;
}

bool is_done(cudaError_t answer) {
  if (answer == cudaErrorNotReady)
    cudaGetLastError();  // or the next launch would tell it
  else
    check(answer);
  return answer != cudaErrorNotReady;
}

bool is_capturing(cudaStream_t stream) {
  if (!stream) return false;
  cudaStreamCaptureStatus status;
  check(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

std::mutex& capture_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

void wait_for_streams() {
  if (is_capturing(current_stream)) return;
  std::vector<Stream> all;
  {
    const std::lock_guard lock(streams().mutex);
    all = streams().all;
  }
  const OwnEvent event;
  for (const Stream& other : all)
    if (other.native != current_stream && record_outside_captures(event, other.native))
      check(cudaStreamWaitEvent(current_stream, event, 0));
}

void put_in_order(cudaStream_t first, cudaStream_t then) {
  if (first == then) return;
  const OwnEvent event;
  check(cudaEventRecord(event, first));
  check(cudaStreamWaitEvent(then, event, 0));
}

}  // namespace tt::cuda
