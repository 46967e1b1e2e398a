#include "cuda/device/graphs.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/device/allocator.h"
#include "cuda/device/copies.h"
#include "cuda/device/errors.h"
#include "cuda/device/events.h"
#include "cuda/device/pinned.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

namespace {

using Spans = std::vector<Allocator::Span>;

// The generator's seed and counter, which the host writes before each replay. Not in the graph's
// own pool: there other memory of the capture may have lain at the same place, to which each
// replay writes again.
uint64_t* new_seeds() {
  constexpr size_t kBytes = sizeof(Generator::Philox);
  void* const seeds = Allocator::instance().allocate(kBytes);
#ifndef __CUDACC__
  emulated::keep_from_kernels(seeds, kBytes);
#endif
  return static_cast<uint64_t*>(seeds);
}

struct Graph {
  uint64_t* const seeds = new_seeds();
  const int64_t pool;
  const cudaStream_t stream;       // that captures
  const Spans inherited;           // of the pool, in use when the capture began
  std::vector<void*> held;         // pinned memory
  std::set<cudaStream_t> users;    // streams that it was replayed on
  Generator* generator = nullptr;  // that it draws from, `drawn` numbers in each replay
  uint64_t drawn = 0;
  OwnEvent replayed;  // where it was last replayed, if it draws
  cudaGraphExec_t exec = nullptr;

  Graph(int64_t pool, cudaStream_t stream)
      : pool(pool), stream(stream), inherited(Allocator::instance().spans_of(pool, false)) {
    Allocator::instance().begin_capture(pool);
  }
  Graph(const Graph&) = delete;
  ~Graph() {
    if (exec) cudaGraphExecDestroy(exec);
    for (const cudaStream_t user : users) Allocator::instance().record_stream(seeds, user);
    Allocator::instance().release(seeds);
    for (void* const block : held) PinnedMemory::instance().let_go(block, users);
    Allocator::instance().release_pool(pool);
  }
};

std::mutex mutex;
std::unique_ptr<Graph> capture;  // the running one

#ifndef __CUDACC__
// What is free may hold anything when a graph is replayed: what it reads must be in use, by itself
// or by the graphs before it that share the pool.
void poison_free(const Graph& graph) {
  Spans inherited = graph.inherited;
  std::sort(inherited.begin(), inherited.end());
  for (const auto& [data, size] : Allocator::instance().spans_of(graph.pool, true)) {
    char* from = data;
    char* const end = data + size;
    for (const auto& [kept, bytes] : inherited) {
      if (kept + bytes <= from || kept >= end) continue;
      if (kept > from) emulated::poison(from, kept - from, current_stream);
      from = kept + bytes;
    }
    if (from < end) emulated::poison(from, end - from, current_stream);
  }
}
#endif

}  // namespace

void begin_capture(int64_t pool) {
  const std::lock_guard lock(mutex);
  if (!current_stream)
    throw RuntimeError(
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to "
        "replay them on the default stream.)");
  if (capture) throw RuntimeError("another CUDA graph is being captured");
  Allocator& allocator = Allocator::instance();
  // The allocator knows before the stream captures: between the two others may release memory.
  auto graph = std::make_unique<Graph>(pool ? pool : allocator.new_pool(), current_stream);
  cudaError_t error;
  {
    const std::lock_guard captures(capture_mutex());
    // Relaxed: other threads may go on, and memory may be asked for.
    error = cudaStreamBeginCapture(current_stream, cudaStreamCaptureModeRelaxed);
  }
  if (error) allocator.end_capture();
  check(error);
  capture = std::move(graph);
}

int64_t end_capture() {
  const std::lock_guard lock(mutex);
  if (!capture || capture->stream != current_stream)
    throw RuntimeError("Capture must end on the same stream it began on.");
  std::unique_ptr<Graph> graph = std::move(capture);
  cudaGraph_t recorded = nullptr;
  const cudaError_t error = cudaStreamEndCapture(current_stream, &recorded);
  Allocator::instance().end_capture();
  check(error);
  const cudaError_t made = cudaGraphInstantiate(&graph->exec, recorded, 0);
  cudaGraphDestroy(recorded);
  check(made);
  return reinterpret_cast<int64_t>(graph.release());
}

void replay(int64_t graph) {
  const std::lock_guard lock(mutex);
  auto* const what = reinterpret_cast<Graph*>(graph);
  if (is_capturing(current_stream)) check(cudaErrorStreamCaptureUnsupported);
  if (what->drawn) {
    const Generator::Philox from = what->generator->take(what->drawn);
    // The replay before, on whichever stream, still reads its own.
    if (!what->users.empty()) check(cudaStreamWaitEvent(current_stream, what->replayed, 0));
    copy_to_device(what->seeds, &from, sizeof from);
  }
#ifndef __CUDACC__
  poison_free(*what);
#endif
  check(cudaGraphLaunch(what->exec, current_stream));
  what->users.insert(current_stream);
  if (what->drawn) check(cudaEventRecord(what->replayed, current_stream));
}

void release_graph(int64_t graph) noexcept {
  if (!is_forked()) delete reinterpret_cast<Graph*>(graph);
}

Draws draws_of_graph(Generator& generator, uint64_t count) {
  const std::lock_guard lock(mutex);
  if (!capture) check(cudaErrorStreamCaptureUnsupported);
  capture->generator = &generator;  // the default one, which lives as long as the process
  const uint64_t before = capture->drawn;
  capture->drawn += count;
  return {{0, before}, capture->seeds};
}

void hold_for_graph(const void* address) {
  const std::lock_guard lock(mutex);
  void* const block = PinnedMemory::instance().hold(address);
  if (capture && block) capture->held.push_back(block);
}

}  // namespace tt::cuda
