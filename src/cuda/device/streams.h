// Streams by their handles, as core/devices/accelerator.h has them. Kernels and copies go to the
// calling thread's, `current_stream` in cuda/cuda.h.
#pragma once
#include <mutex>

#include "cuda/cuda.h"

namespace tt::cuda {

int64_t new_stream(int priority);
cudaStream_t stream_of(int64_t handle);  // RuntimeError where there is none
int priority_of(int64_t handle);

int64_t current_handle();
void set_stream(int64_t handle);

// Whether the call that asks is done; false where the answer is cudaErrorNotReady.
bool is_done(cudaError_t answer);
// Whether what the stream is given is recorded, not done.
bool is_capturing(cudaStream_t stream);
// Held where a stream begins to capture, and from the question whether it does to what rests on the
// answer.
std::mutex& capture_mutex();

// The current stream waits for what all others have been given, but for those that capture; while
// it captures itself, for none: they are no part of the graph.
void wait_for_streams();
// `then` waits for what `first` has been given. They may be of other libraries. The caller holds
// the mutex of captures.
void put_in_order(cudaStream_t first, cudaStream_t then);

}  // namespace tt::cuda
