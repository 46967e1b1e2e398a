#include "cuda/host/queues.h"

#include <dlfcn.h>
#include <pthread.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "cuda/infra/blocking.h"

namespace tt::emulated {

namespace {

std::mutex running;
bool is_lost = false;    // a kernel has faulted
bool is_forked = false;  // since the first call
thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

// The names of the functions that were called, and how often. "waits": those that wait.
std::map<std::string, uint64_t>& calls() {
  static std::map<std::string, uint64_t> all;
  return all;
}

// Without Python in the process nobody holds it.
bool holds_gil() {
  using Ask = int (*)();
  static const auto is_running = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  static const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  return is_running && ask && is_running() && ask();
}

}  // namespace

cudaError_t initialize() {
  static const int watches_forks = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  if (watches_forks != 0 || is_forked) return last_error = cudaErrorInitializationError;
  return cudaSuccess;
}

cudaError_t call(const char* function, const std::function<cudaError_t()>& body) {
  if (const cudaError_t error = initialize()) return error;
  const std::lock_guard lock(running);
  ++calls()[function];
  if (current_device != 0) return last_error = cudaErrorInvalidResourceHandle;
  if (is_lost) return last_error = cudaErrorLaunchFailure;
  try {
    const cudaError_t error = body();
    if (error) last_error = error;
    return error;
  } catch (const Error&) {
    is_lost = true;
    throw;
  }
}

void check_gil(const char* function) {
  if (holds_gil())
    throw RuntimeError("CUDA error: ", function, " waits, and its thread holds Python's GIL");
}

cudaError_t wait(const char* function, const std::function<cudaError_t()>& body) {
  check_gil(function);
  const cudaError_t error = call(function, body);
  const std::lock_guard lock(running);
  ++calls()["waits"];
  return error;
}

Queues& Queues::instance() {
  static auto& all = *new Queues;  // processes end with work left
  return all;
}

cudaStream_t Queues::new_stream() {
  return streams_.emplace_back(std::make_unique<CUstream_st>()).get();
}

cudaError_t Queues::give(cudaStream_t stream, Work work) {
  if (!stream) return run(work);
  ++stream->given;
  stream->asked = false;
  if (Capture* const capture = stream->capture.get()) {
    capture->work.push_back(std::move(work));
    if (stream != capture->streams[0]) capture->unjoined.insert(stream);
    return cudaSuccess;
  }
  stream->queue.push_back(std::move(work));
  return cuda::are_launches_blocking() ? finish(stream) : cudaSuccess;
}

cudaError_t Queues::run(const Work& work) {
  work();
  return cudaSuccess;
}

cudaError_t Queues::record(cudaEvent_t event, cudaStream_t stream) {
  const auto mark = std::make_shared<Mark>();
  event->mark = mark;
  mark->stream = stream;
  if (is_capturing(stream)) {
    mark->capture = stream->capture;
    mark->given = stream->given;
    return cudaSuccess;
  }
  return give(stream, [mark] {
    mark->done = true;
    mark->when = std::chrono::steady_clock::now();
  });
}

cudaError_t Queues::wait(cudaStream_t stream, cudaEvent_t event) {
  const std::shared_ptr<Mark> mark = event->mark;
  if (!mark) return cudaSuccess;
  const std::shared_ptr<Capture>& capture = mark->capture;
  if (!capture) {
    if (!is_capturing(stream)) return give(stream, [this, mark] { finish(*mark); });
    stream->capture->failed = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (capture->ended) return cudaErrorCapturedEvent;
  if (!stream) return refuse_capture(mark->stream);
  if (!stream->capture) {
    stream->capture = capture;
    capture->streams.push_back(stream);
    capture->unjoined.insert(stream);
  }
  if (mark->stream != stream && mark->given == mark->stream->given)
    capture->unjoined.erase(mark->stream);
  return cudaSuccess;
}

void Queues::run_next(cudaStream_t stream) {
  const Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  work();
}

void Queues::finish(const Mark& mark) {
  while (!mark.done) run_next(mark.stream);
}

cudaError_t Queues::finish(cudaStream_t stream) {
  if (!stream) return cudaSuccess;
  if (stream->capture) return refuse_capture(stream);
  while (!stream->queue.empty()) run_next(stream);
  return cudaSuccess;
}

cudaError_t Queues::finish(cudaEvent_t event) {
  if (!event->mark) return cudaSuccess;
  if (event->mark->capture) return cudaErrorCapturedEvent;
  finish(*event->mark);
  return cudaSuccess;
}

cudaError_t Queues::finish_all() {
  for (const auto& stream : streams_)
    if (!stream->capture) finish(stream.get());
  return cudaSuccess;
}

cudaError_t Queues::ask(cudaStream_t stream) {
  if (!stream || (stream->queue.empty() && !stream->capture)) return cudaSuccess;
  if (stream->capture) return refuse_capture(stream);
  return std::exchange(stream->asked, true) ? finish(stream) : cudaErrorNotReady;
}

cudaError_t Queues::ask(cudaEvent_t event) {
  if (!event->mark || event->mark->done) return cudaSuccess;
  if (event->mark->capture) return cudaErrorCapturedEvent;
  return std::exchange(event->mark->asked, true) ? finish(event) : cudaErrorNotReady;
}

cudaError_t Queues::begin_capture(cudaStream_t stream) {
  if (!stream) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return refuse_capture(stream);
  stream->capture = std::make_shared<Capture>();
  stream->capture->streams.push_back(stream);
  return cudaSuccess;
}

cudaError_t Queues::end_capture(cudaStream_t stream, std::shared_ptr<const Capture>& what) {
  if (!is_capturing(stream) || stream->capture->streams[0] != stream) return cudaErrorInvalidValue;
  const std::shared_ptr<Capture> capture = stream->capture;
  for (const cudaStream_t joined : capture->streams) joined->capture = nullptr;
  capture->ended = true;
  if (capture->failed) return cudaErrorStreamCaptureInvalidated;
  if (!capture->unjoined.empty()) return cudaErrorStreamCaptureUnjoined;
  what = capture;
  return cudaSuccess;
}

cudaError_t Queues::refuse_capture(cudaStream_t stream) {
  stream->capture->failed = true;
  return cudaErrorStreamCaptureUnsupported;
}

bool Queues::refuse_captures() {
  bool any = false;
  for (const auto& stream : streams_)
    if (stream->capture) any = refuse_capture(stream.get());
  return any;
}

bool Queues::has(cudaStream_t stream) const {
  if (!stream) return true;
  for (const auto& known : streams_)
    if (known.get() == stream) return true;
  return false;
}

}  // namespace tt::emulated

cudaError_t cudaGetDevice(int* device) {
  *device = tt::emulated::current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device > 1) return tt::emulated::last_error = cudaErrorInvalidDevice;
  tt::emulated::current_device = device;
  return cudaSuccess;
}

// For tests, which find these by their names: how often a function of the runtime was called, or a
// thread waited ("waits"), and another library that makes another device the thread's.
extern "C" __attribute__((visibility("default"))) uint64_t
tiny_torch_emulator_calls(const char* function) {
  const std::lock_guard lock(tt::emulated::running);
  return tt::emulated::calls()[function];
}
extern "C" __attribute__((visibility("default"))) void tiny_torch_emulator_set_device(int device) {
  cudaSetDevice(device);
}
extern "C" __attribute__((visibility("default"))) int tiny_torch_emulator_device() {
  return tt::emulated::current_device;
}

cudaError_t cudaGetLastError() { return std::exchange(tt::emulated::last_error, cudaSuccess); }
