// What the emulated streams have been given and not done, and who waits for what. Callers hold the
// runtime's lock: they come through call().
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "cuda/host/memory.h"
#include "cuda/host/runtime.h"

namespace tt::emulated {

using Work = std::function<void()>;

struct HostRange {
  const char* begin;
  size_t bytes;

  bool meets(const HostRange& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

// What streams are given while they capture, in that order.
struct Capture {
  std::vector<Work> work;
  std::vector<cudaStream_t> streams;  // the one that began it, and those that joined by a wait
  std::set<cudaStream_t> unjoined;    // whose work the others have not waited for
  std::vector<HostRange> copied;      // of the host's memory
  bool failed = false, ended = false;
};

// A place in a stream: what an event records.
struct Mark {
  cudaStream_t stream;
  std::shared_ptr<Capture> capture;  // in which it was recorded, or null
  size_t given;                      // to the stream before
  bool done = false, asked = false;
  std::chrono::steady_clock::time_point when{};
};

}  // namespace tt::emulated

struct CUstream_st {
  std::deque<tt::emulated::Work> queue;
  size_t given = 0;
  bool asked = false;  // whether it was done, since it was last given something
  std::shared_ptr<tt::emulated::Capture> capture;
};
struct CUevent_st {
  bool timing;
  std::shared_ptr<tt::emulated::Mark> mark;  // null: never recorded
};
struct CUgraph_st {
  std::shared_ptr<const tt::emulated::Capture> what;
};
struct CUgraphExec_st {
  std::shared_ptr<const tt::emulated::Capture> what;
};

namespace tt::emulated {

class Queues {
 public:
  static Queues& instance();

  cudaStream_t new_stream();
  // Work for a stream, to be done in its order; the default stream does it at once.
  cudaError_t give(cudaStream_t stream, Work work);
  cudaError_t run(const Work& work);  // at once
  cudaError_t record(cudaEvent_t event, cudaStream_t stream);
  cudaError_t wait(cudaStream_t stream, cudaEvent_t event);

  // Does what is left.
  cudaError_t finish(cudaStream_t stream);
  cudaError_t finish(cudaEvent_t event);
  cudaError_t finish_all();  // of the streams that do not capture
  // Whether all is done: cudaErrorNotReady at first, and then does it.
  cudaError_t ask(cudaStream_t stream);
  cudaError_t ask(cudaEvent_t event);

  cudaError_t begin_capture(cudaStream_t stream);
  cudaError_t end_capture(cudaStream_t stream, std::shared_ptr<const Capture>& what);
  bool is_capturing(cudaStream_t stream) const { return stream && stream->capture; }
  // After what cannot be captured: the capture has failed.
  cudaError_t refuse_capture(cudaStream_t stream);
  bool refuse_captures();  // all; whether there are any

  // Graphs that may be launched.
  std::set<cudaGraphExec_t> graphs;

  // Whether it is a stream that was created, or the default one.
  bool has(cudaStream_t stream) const;

 private:
  void finish(const Mark& mark);
  void run_next(cudaStream_t stream);

  std::vector<std::unique_ptr<CUstream_st>> streams_;
};

// The host may reach the device's memory as long as one lives.
struct Open {
  Open() { Memory::instance().begin(); }
  ~Open() { Memory::instance().end(); }
};

// Runs a function of the runtime, one at a time; after a fault, in a forked process and while
// another device is the thread's, none. `function`: its name, under which calls are counted.
cudaError_t call(const char* function, const std::function<cudaError_t()>& body);
// The device is in use from now on; an error in a process that was forked since then.
cudaError_t initialize();
// RuntimeError where the thread holds Python's GIL. `function`: what waits.
void check_gil(const char* function);
// The same as `call` of one that waits for the device, or may, after check_gil.
cudaError_t wait(const char* function, const std::function<cudaError_t()>& body);

}  // namespace tt::emulated
