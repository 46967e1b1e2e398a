#include "cuda/host/runtime.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/error.h"
#include "cuda/host/card.h"
#include "cuda/host/memory.h"
#include "cuda/host/queues.h"
#include "cuda/infra/blocking.h"
#include "cuda/infra/kernel_name.h"

namespace tt::emulated {

namespace {

// The host memory that cudaHostAlloc gave: begin > bytes.
std::map<const char*, size_t> pinned;

// What cudaFuncSetAttribute has allowed.
std::map<const void*, size_t> shared_bytes;

size_t allowed_shared(const void* kernel) {
  const auto found = shared_bytes.find(kernel);
  return found == shared_bytes.end() ? Card::kAlways : found->second;
}

bool is_pinned(const void* address, size_t bytes) {
  const char* const at = static_cast<const char*>(address);
  auto after = pinned.upper_bound(at);
  if (after == pinned.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return at + bytes <= begin + size;
}

void check_copy(const void* address, size_t bytes, const char* does) {
  const Memory& memory = Memory::instance();
  if (memory.contains(address) && !memory.is_valid(address, bytes))
    throw RuntimeError("CUDA error: a copy ", does, " ", bytes, " bytes of global memory ",
                       memory.describe(address));
}

void copy(void* to, const void* from, size_t bytes) {
  const Memory& memory = Memory::instance();
  check_copy(from, bytes, "reads");
  check_copy(to, bytes, "writes");
  if (memory.contains(from) && memory.contains(to) && memory.is_kept_from_kernels(to))
    throw RuntimeError("CUDA error: a copy on the device writes to memory that the host writes to");
  const Open open;
  std::memcpy(to, from, bytes);
}

cudaError_t allocate(void** block, size_t bytes) {
  *block = Memory::instance().allocate(bytes);
  return *block ? cudaSuccess : cudaErrorMemoryAllocation;
}

// A kernel with its own copy of the arguments.
Work work_of(const Launch& what) {
  const std::shared_ptr<char[]> arguments(new char[what.argument_bytes]);  // aligned to 16
  std::memcpy(arguments.get(), what.arguments, what.argument_bytes);
  return [what, arguments] {
    Launch own = what;
    own.arguments = arguments.get();
    const Open open;
    launch(own);
  };
}

// Calls body(stream) for one that is there.
template <class Body>
cudaError_t call_on(const char* function, cudaStream_t stream, const Body& body) {
  return call(function, [&] {
    constexpr uintptr_t kPerThread = 2;  // the last of the numbers that stand for streams
    const cudaStream_t known = reinterpret_cast<uintptr_t>(stream) <= kPerThread ? nullptr : stream;
    return Queues::instance().has(known) ? body(known) : cudaErrorInvalidResourceHandle;
  });
}

}  // namespace

void launch(const Launch& what, cudaStream_t stream) {
  if (cuda::are_launches_blocking()) check_gil("a launch that blocks");
  std::string refusal;
  const cudaError_t error = call_on("launch", stream, [&](cudaStream_t stream) {
    refusal = Card::instance().refusal(what, allowed_shared(what.kernel));
    if (!refusal.empty()) return cudaErrorInvalidConfiguration;
    if (stream) return Queues::instance().give(stream, work_of(what));
    return Queues::instance().run([&] {
      const Open open;
      launch(what);
    });
  });
  if (error)
    throw RuntimeError("CUDA error in kernel ", cuda::kernel_name(what.name), ": ",
                       cudaGetErrorString(error), refusal.empty() ? "" : ": ", refusal);
}

void poison(void* data, size_t bytes, cudaStream_t stream) {
  call("poison", [=] {
    return Queues::instance().give(stream, [=] {
      const Open open;
      std::memset(data, 0xff, bytes);
    });
  });
}

void keep_from_kernels(void* data, size_t bytes) {
  Memory::instance().keep_from_kernels(data, bytes);
}

void check_no_graph_copies(const void* data, size_t bytes) {
  const HostRange range{static_cast<const char*>(data), bytes};
  call("check_no_graph_copies", [=] {
    for (const cudaGraphExec_t graph : Queues::instance().graphs)
      for (const HostRange& copied : graph->what->copied)
        if (copied.meets(range))
          throw RuntimeError("CUDA error: memory of the host is given to others, and a graph that ",
                             "lives copies it");
    return cudaSuccess;
  });
}

}  // namespace tt::emulated

using namespace tt::emulated;

// ---- the device ---------------------------------------------------------------------------------
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInitializationError:
      return "initialization error";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    default:
      return "unknown error";
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 2;
  return initialize();
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0 && device != 1) return cudaErrorInvalidDevice;
  int major = 8, minor = 0;  // for tests: of another GPU
  if (const char* const set = std::getenv("TINY_TORCH_EMULATED_CAPABILITY"))
    std::sscanf(set, "%d.%d", &major, &minor);
  *properties = {"CUDA on the host",
                 Memory::instance().total(),
                 /*sharedMemPerBlock=*/48 << 10,
                 /*sharedMemPerMultiprocessor=*/164 << 10,
                 /*regsPerMultiprocessor=*/65536,
                 kWarp,
                 /*maxThreadsPerBlock=*/1024,
                 /*maxThreadsPerMultiProcessor=*/2048,
                 major,
                 minor,
                 /*multiProcessorCount=*/1,
                 /*l2CacheSize=*/1 << 20,
                 Card::instance().most_shared,
                 /*integrated=*/0,
                 /*isMultiGpuBoard=*/0};
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return wait(__func__, [] {
    if (Queues::instance().refuse_captures()) return cudaErrorStreamCaptureUnsupported;
    return Queues::instance().finish_all();
  });
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  return call(__func__, [=] {
    if (value < 0 || static_cast<size_t>(value) > Card::instance().most_shared)
      return cudaErrorInvalidValue;
    shared_bytes[kernel] = value;
    return cudaSuccess;
  });
}

// ---- memory -------------------------------------------------------------------------------------
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return wait(__func__, [=] {
    *total = Memory::instance().total();
    *free = *total - Memory::instance().in_use();
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** block, size_t bytes) {
  return wait(__func__, [=] { return allocate(block, bytes); });
}

cudaError_t cudaFree(void* block) {
  return wait(__func__, [=] {
    Queues::instance().finish_all();
    return Memory::instance().release(block) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMallocAsync(void** block, size_t bytes, cudaStream_t) {
  return call(__func__, [=] { return allocate(block, bytes); });
}

cudaError_t cudaFreeAsync(void* block, cudaStream_t stream) {
  return call_on(__func__, stream, [=](cudaStream_t stream) {
    return Queues::instance().give(stream, [=] { Memory::instance().release(block); });
  });
}

cudaError_t cudaHostAlloc(void** block, size_t bytes, unsigned flags) {
  return wait(__func__, [=] {
    *block = ::operator new(bytes, std::nothrow);
    if (!*block) return cudaErrorMemoryAllocation;
    pinned[static_cast<char*>(*block)] = bytes;
    if (flags & cudaHostAllocMapped) map(*block, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* block) {
  return wait(__func__, [=] {
    Queues::instance().finish_all();
    const auto found = pinned.find(static_cast<char*>(block));
    if (found == pinned.end()) return cudaErrorInvalidValue;
    pinned.erase(found);
    ::operator delete(block);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Memory& memory = Memory::instance();
  if (memory.contains(to) != (kind != cudaMemcpyDeviceToHost) ||
      memory.contains(from) != (kind != cudaMemcpyHostToDevice))
    return cudaErrorInvalidValue;
  Queues& queues = Queues::instance();
  const char* const host = static_cast<const char*>(kind == cudaMemcpyHostToDevice ? from : to);
  bool is_late = kind == cudaMemcpyDeviceToDevice;
  const cudaError_t error = call_on(__func__, stream, [&](cudaStream_t stream) {
    if (!is_late && is_pinned(host, bytes)) {
      is_late = true;
      if (queues.is_capturing(stream)) stream->capture->copied.push_back({host, bytes});
    }
    if (is_late) return queues.give(stream, [=] { copy(to, from, bytes); });
    return queues.is_capturing(stream) ? queues.refuse_capture(stream) : cudaSuccess;
  });
  if (error || is_late) return error;
  return wait("copies of pageable memory", [&] {
    if (kind == cudaMemcpyDeviceToHost) {
      if (const cudaError_t error = queues.finish(stream)) return error;
      return queues.run([=] { copy(to, from, bytes); });
    }
    if (!stream) return queues.run([=] { copy(to, from, bytes); });
    return queues.give(stream, [to, staged = std::vector<char>(host, host + bytes)] {
      copy(to, staged.data(), staged.size());
    });
  });
}

// ---- streams and events -------------------------------------------------------------------------
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  return call(__func__, [=] {
    *stream = Queues::instance().new_stream();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call_on(__func__, stream,
                 [=](cudaStream_t stream) { return Queues::instance().ask(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return wait(__func__, [=] { return Queues::instance().finish(stream); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call_on(__func__, stream,
                 [=](cudaStream_t stream) { return Queues::instance().wait(stream, event); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call(__func__, [=] {
    *event = new CUevent_st{!(flags & cudaEventDisableTiming), nullptr};
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call_on(__func__, stream,
                 [=](cudaStream_t stream) { return Queues::instance().record(event, stream); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(__func__, [=] { return Queues::instance().ask(event); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return wait(__func__, [=] { return Queues::instance().finish(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call(__func__, [=] {
    for (const cudaEvent_t event : {start, end})
      if (!event->timing || !event->mark) return cudaErrorInvalidResourceHandle;
    if (!start->mark->done || !end->mark->done) return cudaErrorNotReady;
    using Milliseconds = std::chrono::duration<float, std::milli>;
    *milliseconds = Milliseconds(end->mark->when - start->mark->when).count();
    return cudaSuccess;
  });
}

// ---- graphs -------------------------------------------------------------------------------------
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call(__func__, [=] { return Queues::instance().begin_capture(stream); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call(__func__, [=] {
    *graph = nullptr;
    std::shared_ptr<const Capture> what;
    const cudaError_t error = Queues::instance().end_capture(stream, what);
    if (!error) *graph = new CUgraph_st{what};
    return error;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call(__func__, [=] {
    *status = Queues::instance().is_capturing(stream) ? cudaStreamCaptureStatusActive
                                                      : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return call(__func__, [=] {
    *exec = new CUgraphExec_st{graph->what};
    Queues::instance().graphs.insert(*exec);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return call_on(__func__, stream, [=](cudaStream_t stream) {
    Queues& queues = Queues::instance();
    if (queues.is_capturing(stream)) return queues.refuse_capture(stream);
    return queues.give(stream, [what = exec->what] {
      for (const Work& work : what->work) work();
    });
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call(__func__, [=] {
    Queues::instance().graphs.erase(exec);
    delete exec;
    return cudaSuccess;
  });
}
