// What the threads of a block find together. Always in the same order, so that the bits are the
// same in every run: lanes of a warp by halves, then warps one after the other.
#pragma once
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = ~0u;

// combine(...) of every lane's value, to all lanes of a warp.
template <class T, class Combine>
__device__ T of_warp(T value, Combine combine) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

// combine(...) of every thread's value, to all threads of a block of kThreads.
template <class T, class Combine>
__device__ T of_block(T value, Combine combine) {
  __shared__ T of_warps[kThreads / 32];
  value = of_warp(value, combine);
  __syncthreads();  // the warps' values of an earlier call have been read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) value = combine(value, of_warps[warp]);
  return value;
}
struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
// NaN wins.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

template <class T>
__device__ T sum_of_block(T value) {
  return of_block(value, Add());
}
template <class T>
__device__ T max_of_block(T value) {
  return of_block(value, Larger());
}

}  // namespace
}  // namespace tt::cuda
