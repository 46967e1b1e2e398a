// What CUDA's errors become: exceptions with PyTorch's words.
#pragma once
#include "core/error.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "cuda/host/runtime.h"
#endif

namespace tt::cuda {

// Throws RuntimeError for an error. `launch`: the __PRETTY_FUNCTION__ of a kernel's, or null.
[[noreturn]] void fail(cudaError_t error, const char* launch);
inline void check(cudaError_t error, const char* launch = nullptr) {
  if (error != cudaSuccess) fail(error, launch);
}

// Throws RuntimeError where there is no device; it says why.
void check_device();

// Whether this process was forked from one that had used the device, which it cannot do then.
bool is_forked();
// From now on forks are seen.
void watch_forks();

}  // namespace tt::cuda
