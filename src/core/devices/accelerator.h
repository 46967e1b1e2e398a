// A device with queues of its own: its streams, events, memory statistics and graphs. What
// tiny_torch.cuda is made of; a Device has one beside its memory and kernels, or null.
//
// Streams, events and graphs are handles. Stream 0 is the default stream. What cannot be done
// throws RuntimeError with PyTorch's words. https://pytorch.org/docs/stable/cuda.html
#pragma once
#include <cstddef>
#include <cstdint>

namespace tt {

struct GilHooks;

struct DeviceProperties {
  char name[256];
  int major, minor;  // compute capability
  int multi_processor_count, warp_size;
  int max_threads_per_block, max_threads_per_multi_processor, regs_per_multiprocessor;
  size_t total_memory, shared_memory_per_block, shared_memory_per_block_optin;
  size_t shared_memory_per_multiprocessor, l2_cache_size;
  bool is_integrated, is_multi_gpu_board;
};

// Bytes and blocks as torch.cuda.memory_stats counts them.
struct MemoryCount {
  int64_t current, peak, allocated, freed;
};
struct MemoryStatistics {
  MemoryCount allocation, segment, active;  // blocks
  MemoryCount allocated_bytes, reserved_bytes, active_bytes, requested_bytes;
  int64_t retries, out_of_memory;  // of allocations
};

struct Accelerator {
  // Called once: how the host's waits, in all functions of the device, let other threads of Python
  // go on.
  void (*set_gil_hooks)(const GilHooks& hooks);

  // The device.
  int (*device_count)();  // 0 without a driver or device; never throws
  DeviceProperties (*properties)();
  const char* (*architectures)();  // that the library has code for, as "sm_80,compute_80"
  void (*memory_info)(size_t& free, size_t& total);
  void (*synchronize)();

  // Streams. A new one comes from a pool, and is never destroyed; priority 0 or below, the lower
  // the sooner. `current` is the calling thread's.
  int64_t (*new_stream)(int priority);
  int64_t (*current_stream)();
  void (*set_stream)(int64_t stream);
  bool (*query_stream)(int64_t stream);  // whether all its work is done
  void (*synchronize_stream)(int64_t stream);
  uint64_t (*native_stream)(int64_t stream);  // the address that other libraries know it by
  int (*priority_of)(int64_t stream);
  // The current stream waits for what all others have been given; while it is recorded, for none.
  void (*wait_for_streams)();
  // Streams of other libraries, by their addresses: it waits for the current one, or that for it.
  void (*let_wait)(uint64_t native);
  void (*wait_for)(uint64_t native);

  // Events.
  int64_t (*new_event)(bool timing, bool blocking);
  void (*release_event)(int64_t event);
  void (*record)(int64_t event, int64_t stream);
  void (*wait)(int64_t stream, int64_t event);
  bool (*query_event)(int64_t event);
  void (*synchronize_event)(int64_t event);
  float (*milliseconds_between)(int64_t start, int64_t end);  // ValueError where not timed

  // Memory. `record_stream`: the block is in use by this stream, too.
  MemoryStatistics (*statistics)();
  void (*reset_peaks)();
  void (*reset_counts)();
  void (*empty_cache)();
  void (*set_memory_fraction)(double fraction);
  void (*record_stream)(void* block, int64_t stream);

  // Host memory that copies need not wait for.
  void* (*allocate_pinned)(size_t bytes);
  void (*release_pinned)(void* block);
  bool (*is_pinned)(const void* address);
  // Copies in the order of the current stream, without waiting.
  void (*from_host_later)(void* to, const void* from, size_t bytes);
  void (*to_host_later)(void* to, const void* from, size_t bytes);

  // Graphs: what the current stream is given between begin and end is recorded, not done. Memory
  // of the recording comes from `pool` (0: a new one), and stays the graph's.
  int64_t (*new_pool)();
  void (*begin_capture)(int64_t pool);
  int64_t (*end_capture)();
  bool (*is_capturing)();
  void (*replay)(int64_t graph);
  void (*release_graph)(int64_t graph);
};

}  // namespace tt
