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

// How many devices there are; 0 where CUDA does not answer. It is asked once: a forked process,
// too, has the answer, and learns from its first use that it may not.
int device_count();
// Throws RuntimeError where there is no driver or device; it says why.
void check_driver();
// The same where kernels do not run on the device, too: it is too old, or the build not for it.
void check_device();
// What the build has code for: "sm_80,compute_80,sm_90a".
const char* architectures();

// Whether this process was forked from one that had used the device, which it cannot do then.
bool is_forked();
// From now on forks are seen. RuntimeError in such a process.
void check_process();

}  // namespace tt::cuda
