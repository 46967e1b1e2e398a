// What every kernel file includes: CUDA, by nvcc or on the host (cuda/host), and launches:
//
//   __global__ void fill(float* out, int64_t n, float value) { ... }
//   launch<fill>({blocks, threads}, out, n, value);
//
// Everything else is in an anonymous namespace, as kernels are: their files are built for two
// devices.
#pragma once
#include <cstdint>
#include <mutex>

#ifdef __CUDACC__
#include <cuda_runtime.h>

#include "cuda/device/errors.h"
#define TT_PRAGMA(text) _Pragma(#text)
#define TT_UNROLL TT_PRAGMA(unroll)  // before a loop over an array that must lie in registers
#define TT_UNROLL_BY(count) TT_PRAGMA(unroll count)
#else
#include "cuda/host/cuda.h"
#define TT_UNROLL
#define TT_UNROLL_BY(count)
#endif

namespace tt::cuda {

// Where the calling thread's kernels go; null is the default stream.
inline thread_local cudaStream_t current_stream __attribute__((visibility("hidden"))) = nullptr;

namespace {

// Counted in 64 bits, as elements are: launch() refuses more than a GPU can number.
struct Blocks {
  int64_t x, y, z;

  Blocks(int64_t x, int64_t y = 1, int64_t z = 1) : x(x), y(y), z(z) {}
};

struct Grid {
  Blocks blocks;
  dim3 threads;
  size_t shared_bytes = 0;  // of dynamic shared memory
};

// The kernel's dynamic shared memory.
template <class T>
__device__ T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) char memory[];
  return reinterpret_cast<T*>(memory);
#else
  return static_cast<T*>(tt::emulated::dynamic_shared());
#endif
}

// Lets a kernel have more dynamic shared memory than each has. CUDA is asked once for the most that
// the kernel was launched with.
template <auto kernel>
cudaError_t allow_shared(size_t bytes) {
  constexpr size_t kAlways = 48 << 10;
  static size_t allowed = kAlways;
  static std::mutex mutex;
  if (bytes <= kAlways) return cudaSuccess;
  const std::lock_guard lock(mutex);
  if (bytes <= allowed) return cudaSuccess;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error == cudaSuccess) allowed = bytes;
  return error;
}

#ifdef __CUDACC__
template <auto kernel, class... Parameters>
void launch_as(void (*)(Parameters...), const char* name, const Grid& grid,
               const std::common_type_t<Parameters>&... values) {
  const auto [x, y, z] = grid.blocks;
  if (x > INT32_MAX || y > UINT16_MAX || z > UINT16_MAX) fail(cudaErrorInvalidConfiguration, name);
  const dim3 blocks(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
  check(allow_shared<kernel>(grid.shared_bytes), name);
  kernel<<<blocks, grid.threads, grid.shared_bytes, current_stream>>>(values...);
  check(cudaGetLastError(), name);
}
#else
template <auto kernel, class... Parameters>
void launch_as(void (*)(Parameters...), const char* name, const Grid& grid,
               const std::common_type_t<Parameters>&... values) {
  const auto call = [=] { kernel(values...); };
  using Call = decltype(call);
  allow_shared<kernel>(grid.shared_bytes);  // if that fails, the launch says why
  tt::emulated::launch({name,
                        {grid.blocks.x, grid.blocks.y, grid.blocks.z},
                        grid.threads,
                        grid.shared_bytes,
                        [](const void* of) { (*static_cast<Call*>(of))(); },
                        &call,
                        sizeof call,
                        reinterpret_cast<const void*>(kernel)},
                       current_stream);
}
#endif

// Starts a kernel. The values are converted to its parameters.
template <auto kernel, class... Values>
void launch(const Grid& grid, const Values&... values) {
  if (grid.blocks.x == 0) return;
  launch_as<kernel>(kernel, __PRETTY_FUNCTION__, grid, values...);
}

}  // namespace
}  // namespace tt::cuda
