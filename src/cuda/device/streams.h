// Streams by their handles, as core/accelerator.h has them. Kernels and copies go to the calling
// thread's, `current_stream` in cuda/cuda.h.
#pragma once
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

}  // namespace tt::cuda
