// The device: CUDA's memory, streams and graphs (src/cuda/device) and the tables of kernels. Built
// over CUDA itself it is `cuda`, over the emulator `cuda-emulated`.
#include "core/devices/device.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "core/devices/accelerator.h"
#include "core/devices/gil.h"
#include "cuda/device/allocator.h"
#include "cuda/device/copies.h"
#include "cuda/device/errors.h"
#include "cuda/device/faults.h"
#include "cuda/device/graphs.h"
#include "cuda/device/guard.h"
#include "cuda/device/pinned.h"
#include "cuda/device/streams.h"
#include "cuda/infra/blocking.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

namespace {

#ifdef __CUDACC__
constexpr const char* kInstructionSet = "CUDA";
const char* device_name() { return "cuda"; }
#else
constexpr const char* kInstructionSet = "CUDA on the host";
// With TINY_TORCH_CUDA=emulated, programs that were written for a GPU run here.
const char* device_name() {
  const char* const set = std::getenv("TINY_TORCH_CUDA");
  return set && std::strcmp(set, "emulated") == 0 ? "cuda" : "cuda-emulated";
}
#endif

const Backend& backend() {
  static const Backend all = [] {
    Backend tables;
    tables.name = device_name();
    tables.instruction_set = kInstructionSet;
#define TT_HAVE(family, Table) tables.family = &family##_table;
    TT_FAMILIES(TT_HAVE)
#undef TT_HAVE
    return tables;
  }();
  return all;
}

// ---- copies -------------------------------------------------------------------------------------
// Each replay of a graph would copy the same: what is new in each step, such as random numbers,
// must come from memory that the graph reads.
void from_host(void* to, const void* from, size_t bytes) {
  if (is_capturing(current_stream)) check(cudaErrorStreamCaptureUnsupported);
  copy_to_device(to, from, bytes);
}
void from_host_later(void* to, const void* from, size_t bytes) {
  PinnedMemory::instance().contains(from) ? copy_to_device_later(to, from, bytes)
                                          : from_host(to, from, bytes);
}

// ---- the accelerator's functions ----------------------------------------------------------------
DeviceProperties properties() {
  check_driver();
  cudaDeviceProp all;
  check(cudaGetDeviceProperties(&all, 0));
  DeviceProperties some{};
  std::memcpy(some.name, all.name, sizeof some.name);
  some.major = all.major;
  some.minor = all.minor;
  some.multi_processor_count = all.multiProcessorCount;
  some.warp_size = all.warpSize;
  some.max_threads_per_block = all.maxThreadsPerBlock;
  some.max_threads_per_multi_processor = all.maxThreadsPerMultiProcessor;
  some.regs_per_multiprocessor = all.regsPerMultiprocessor;
  some.total_memory = all.totalGlobalMem;
  some.shared_memory_per_block = all.sharedMemPerBlock;
  some.shared_memory_per_block_optin = all.sharedMemPerBlockOptin;
  some.is_integrated = all.integrated;
  some.is_multi_gpu_board = all.isMultiGpuBoard;
  some.shared_memory_per_multiprocessor = all.sharedMemPerMultiprocessor;
  some.l2_cache_size = all.l2CacheSize;
  return some;
}

void memory_info(size_t& free, size_t& total) {
  const WithoutGil released(true);
  check_device();
  check(cudaMemGetInfo(&free, &total));
}

void synchronize() {
  check(cudaDeviceSynchronize());
  tell_faults();
}

bool query_stream(int64_t stream) { return is_done(cudaStreamQuery(stream_of(stream))); }
void synchronize_stream(int64_t stream) {
  check(cudaStreamSynchronize(stream_of(stream)));
  tell_faults();
}
uint64_t native_stream(int64_t stream) { return reinterpret_cast<uint64_t>(stream_of(stream)); }

// CUDA's other name of the default stream is 1.
cudaStream_t stream_of_address(uint64_t native) {
  return native == 1 ? nullptr : reinterpret_cast<cudaStream_t>(native);
}
void let_wait(uint64_t native) {
  const std::lock_guard captures(capture_mutex());
  put_in_order(current_stream, stream_of_address(native));
}
void wait_for(uint64_t native) {
  const std::lock_guard captures(capture_mutex());
  put_in_order(stream_of_address(native), current_stream);
}

// An event's handle is its address.
struct Event {
  cudaEvent_t native;
  const bool timing;
  bool recorded = false;
};
Event& event_of(int64_t handle) { return *reinterpret_cast<Event*>(handle); }

int64_t new_event(bool timing, bool blocking) {
  check_device();
  const unsigned flags = (timing ? cudaEventDefault : cudaEventDisableTiming) |
                         (blocking ? cudaEventBlockingSync : cudaEventDefault);
  cudaEvent_t native;
  check(cudaEventCreateWithFlags(&native, flags));
  return reinterpret_cast<int64_t>(new Event{native, timing});
}
void release_event(int64_t event) {
  if (!is_forked()) cudaEventDestroy(event_of(event).native);
  delete &event_of(event);
}
void record(int64_t event, int64_t stream) {
  check(cudaEventRecord(event_of(event).native, stream_of(stream)));
  event_of(event).recorded = true;
}
void wait(int64_t stream, int64_t event) {
  const std::lock_guard captures(capture_mutex());  // it may take the stream into a capture
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event).native, 0));
}
bool query_event(int64_t event) { return is_done(cudaEventQuery(event_of(event).native)); }
void synchronize_event(int64_t event) {
  check(cudaEventSynchronize(event_of(event).native));
  tell_faults();
}

float milliseconds_between(int64_t start, int64_t end) {
  const Event &first = event_of(start), &last = event_of(end);
  if (!first.timing || !last.timing)
    throw ValueError("Both events must be created with argument 'enable_timing=True'.");
  if (!first.recorded || !last.recorded)
    throw ValueError("Both events must be recorded before calculating elapsed time.");
  if (!query_event(start) || !query_event(end))
    throw RuntimeError("Both events must be completed before calculating elapsed time.");
  float milliseconds;
  check(cudaEventElapsedTime(&milliseconds, first.native, last.native));
  return milliseconds;
}

// ---- memory -------------------------------------------------------------------------------------
void* allocate(size_t bytes) { return Allocator::instance().allocate(bytes); }
void release(void* block, size_t) {
  if (is_forked()) return;
  const DeviceGuard guard;
  Allocator::instance().release(block);
}

void empty_cache() {
  Allocator::instance().empty_cache();
  PinnedMemory::instance().empty_cache();
}
void set_memory_fraction(double fraction) { Allocator::instance().set_memory_fraction(fraction); }
void record_stream(void* block, int64_t stream) {
  Allocator::instance().record_stream(block, stream_of(stream));
}

void* allocate_pinned(size_t bytes) { return PinnedMemory::instance().allocate(bytes); }
void release_pinned(void* block) {
  if (is_forked()) return;
  const DeviceGuard guard;
  PinnedMemory::instance().release(block);
}

// ---- graphs -------------------------------------------------------------------------------------
bool is_current_capturing() { return is_capturing(current_stream); }
void release_capture(int64_t graph) {
  if (is_forked()) return;
  const DeviceGuard guard;
  release_graph(graph);
}

const Accelerator accelerator{
    [](const GilHooks& hooks) { gil_hooks = hooks; },
    device_count,
    on_device<properties>,
    architectures,
    on_device<memory_info>,
    on_device<synchronize>,
    on_device<new_stream>,
    current_handle,
    set_stream,
    on_device<query_stream>,
    on_device<synchronize_stream>,
    native_stream,
    priority_of,
    on_device<wait_for_streams>,
    on_device<let_wait>,
    on_device<wait_for>,
    on_device<new_event>,
    release_event,
    on_device<record>,
    on_device<wait>,
    on_device<query_event>,
    on_device<synchronize_event>,
    on_device<milliseconds_between>,
    [] { return Allocator::instance().statistics(); },
    [] { Allocator::instance().reset_peaks(); },
    [] { Allocator::instance().reset_counts(); },
    on_device<empty_cache>,
    on_device<set_memory_fraction>,
    on_device<record_stream>,
    on_device<allocate_pinned>,
    release_pinned,
    [](const void* address) { return PinnedMemory::instance().contains(address); },
    on_device<from_host_later>,
    on_device<copy_to_host_later>,
    [] { return Allocator::instance().new_pool(); },
    on_device<begin_capture>,
    on_device<end_capture>,
    on_device<is_current_capturing>,
    on_device<replay>,
    release_capture};

// Around the launches of a call (core/devices/launch.h), which may be within another's. The host
// may wait.
thread_local std::optional<WithoutGil> released;
thread_local std::optional<DeviceGuard> guard;
thread_local int launches = 0;

void begin_launch() {
  check_process();
  if (launches++ > 0) return;
  released.emplace(are_launches_blocking());
  guard.emplace();
}
void end_launch() {
  if (--launches > 0) return;
  guard.reset();
  released.reset();
}

const Device* make(const Device&) {
  static const Device device{device_name(),
                             &backend(),
                             on_device<allocate>,
                             release,
                             on_device<copy_to_device>,
                             on_device<copy_to_host>,
                             on_device<copy_on_device>,
                             begin_launch,
                             end_launch,
                             /*on_host=*/false,
                             /*has_data=*/true,
                             &accelerator};
  return &device;
}

}  // namespace

void* allocate_scratch(size_t bytes) { return Allocator::instance().allocate(bytes); }
void release_scratch(void* block, size_t) { Allocator::instance().release(block); }

}  // namespace tt::cuda

TT_DEVICE(tt::cuda::make);
