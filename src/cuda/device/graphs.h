// Graphs: what a stream was given between begin and end, to be done again at once. One at a time is
// captured; its memory comes from a pool of the allocator.
#pragma once
#include "cuda/cuda.h"

namespace tt::cuda {

void begin_capture(int64_t pool);
int64_t end_capture();
void replay(int64_t graph);
void release_graph(int64_t graph) noexcept;

// Keeps pinned memory, which the running capture copies from, as long as its graph.
void keep_for_graph(void* pinned);

}  // namespace tt::cuda
