// Graphs: what a stream was given between begin and end, to be done again at once. One at a time is
// captured; its memory comes from a pool of the allocator.
#pragma once
#include "cuda/cuda.h"
#include "cuda/infra/philox.h"

namespace tt::cuda {

void begin_capture(int64_t pool);
int64_t end_capture();
void replay(int64_t graph);
void release_graph(int64_t graph) noexcept;

// Random numbers of the running capture, which each replay draws anew.
Draws draws_of_graph(Generator& generator, uint64_t count);

// Keeps pinned memory, which the running capture copies from or to, as long as its graph.
void hold_for_graph(const void* address);

}  // namespace tt::cuda
