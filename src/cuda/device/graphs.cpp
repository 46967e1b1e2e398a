#include "cuda/device/graphs.h"

#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda/device/allocator.h"
#include "cuda/device/copies.h"
#include "cuda/device/errors.h"
#include "cuda/device/pinned.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

namespace {

struct Graph {
  const int64_t pool;
  const cudaStream_t stream;       // that captures
  std::vector<void*> kept;         // pinned memory
  std::set<cudaStream_t> users;    // streams that it was replayed on
  Generator* generator = nullptr;  // that it draws from, `drawn` numbers in each replay
  uint64_t drawn = 0;
  uint64_t* replayed = nullptr;
  cudaGraphExec_t exec = nullptr;

  Graph(int64_t pool, cudaStream_t stream) : pool(pool), stream(stream) {}
  Graph(const Graph&) = delete;
  ~Graph() {
    if (exec) cudaGraphExecDestroy(exec);
    if (replayed) Allocator::instance().release(replayed);
    for (void* const block : kept) {
      for (const cudaStream_t user : users) PinnedMemory::instance().record_stream(block, user);
      PinnedMemory::instance().release(block);
    }
    Allocator::instance().release_pool(pool);
  }
};

std::mutex mutex;
std::unique_ptr<Graph> capture;  // the running one

}  // namespace

void begin_capture(int64_t pool) {
  const std::lock_guard lock(mutex);
  if (!current_stream)
    throw RuntimeError(
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to "
        "replay them on the default stream.)");
  if (capture) throw RuntimeError("another CUDA graph is being captured");
  // Relaxed: other threads may go on, and memory may be asked for.
  check(cudaStreamBeginCapture(current_stream, cudaStreamCaptureModeRelaxed));
  Allocator& allocator = Allocator::instance();
  if (pool == 0) pool = allocator.new_pool();
  allocator.begin_capture(pool);
  capture = std::make_unique<Graph>(pool, current_stream);
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
  if (what->generator) {
    const Generator::Philox from = what->generator->take(what->drawn);
    copy_to_device(what->replayed, &from, sizeof from);
  }
  check(cudaGraphLaunch(what->exec, current_stream));
  what->users.insert(current_stream);
}

void release_graph(int64_t graph) noexcept {
  if (!is_forked()) delete reinterpret_cast<Graph*>(graph);
}

Draws draws_of_graph(Generator& generator, uint64_t count) {
  const std::lock_guard lock(mutex);
  if (!capture) check(cudaErrorStreamCaptureUnsupported);
  if (!capture->generator) {
    capture->generator = &generator;  // the default one, which lives as long as the process
    capture->replayed =
        static_cast<uint64_t*>(Allocator::instance().allocate(2 * sizeof(uint64_t)));
  }
  const uint64_t before = capture->drawn;
  capture->drawn += count;
  return {{0, before}, capture->replayed};
}

void keep_for_graph(void* pinned) {
  const std::lock_guard lock(mutex);
  if (capture) capture->kept.push_back(pinned);
}

}  // namespace tt::cuda
