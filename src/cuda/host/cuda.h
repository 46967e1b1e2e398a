// CUDA C++ for the host's compiler: the words and functions of the language that kernels of this
// project use, over the emulator. cuda/cuda.h includes it where nvcc does not compile.
//
// https://docs.nvidia.com/cuda/cuda-c-programming-guide/
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/host/emulator.h"
#include "cuda/host/runtime.h"

#define __global__ static
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx (tt::emulated::position.thread)
#define blockIdx (tt::emulated::position.block)
#define blockDim (tt::emulated::position.block_size)
#define gridDim (tt::emulated::position.grid_size)
constexpr int warpSize = tt::emulated::kWarp;

using dim3 = tt::emulated::Extent;

// ---- vectors of CUDA ----------------------------------------------------------------------------
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace {

// ---- barriers -----------------------------------------------------------------------------------
__forceinline__ void __syncthreads() { tt::emulated::wait_for_block(); }

template <class T>
struct Lanes {
  T of[tt::emulated::kWarp];
};

template <class T>
__forceinline__ Lanes<T> lanes_of(const char* what, unsigned mask, T value) {
  static_assert(sizeof(T) <= tt::emulated::kLaneBytes);
  Lanes<T> all;
  tt::emulated::exchange(what, mask, &value, sizeof value, &all);
  return all;
}

__forceinline__ void __syncwarp(unsigned mask = ~0u) { lanes_of("__syncwarp", mask, 0); }

// ---- votes and shuffles -------------------------------------------------------------------------
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  const auto all = lanes_of("__ballot_sync", mask, predicate);
  unsigned votes = 0;
  for (int k = 0; k < tt::emulated::kWarp; ++k)
    if (mask >> k & 1) votes |= unsigned{all.of[k] != 0} << k;
  return votes;
}
__forceinline__ int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
__forceinline__ int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}
__forceinline__ unsigned __activemask() { return ~0u; }

// The value of lane `from`, which the mask must name; its own where there is none in its group.
template <class T>
__forceinline__ T shuffled(const char* what, unsigned mask, T value, int from, bool is_there) {
  const auto all = lanes_of(what, mask, value);
  if (!is_there) return value;
  if (!(mask >> from & 1)) tt::emulated::fail_on_lane(what, from);
  return all.of[from];
}
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
  const int first = tt::emulated::lane() / width * width;
  return shuffled("__shfl_sync", mask, value, first + (from & (width - 1)), true);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int from = tt::emulated::lane() - static_cast<int>(delta);
  const int first = tt::emulated::lane() / width * width;
  return shuffled("__shfl_up_sync", mask, value, from, from >= first);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const int from = tt::emulated::lane() + static_cast<int>(delta);
  const int end = (tt::emulated::lane() / width + 1) * width;
  return shuffled("__shfl_down_sync", mask, value, from, from < end);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  const int from = tt::emulated::lane() ^ bits;
  const int end = (tt::emulated::lane() / width + 1) * width;
  return shuffled("__shfl_xor_sync", mask, value, from, from < end);
}

// ---- atomic functions: threads run one at a time ------------------------------------------------
template <class T, class F>
__attribute__((no_sanitize("thread"), noinline)) T atomically(T* address, F change) {
  tt::emulated::check_atomic(address, sizeof(T));
  const T old = *address;
  *address = change(old);
  return old;
}
template <class T>
__forceinline__ T atomicAdd(T* address, T value) {
  return atomically(address, [=](T old) { return T(old + value); });
}
template <class T>
__forceinline__ T atomicMax(T* address, T value) {
  return atomically(address, [=](T old) { return std::max(old, value); });
}
template <class T>
__forceinline__ T atomicMin(T* address, T value) {
  return atomically(address, [=](T old) { return std::min(old, value); });
}
template <class T>
__forceinline__ T atomicOr(T* address, T value) {
  return atomically(address, [=](T old) { return T(old | value); });
}
template <class T>
__forceinline__ T atomicExch(T* address, T value) {
  return atomically(address, [=](T) { return value; });
}
template <class T>
__forceinline__ T atomicCAS(T* address, T expected, T value) {
  return atomically(address, [=](T old) { return old == expected ? value : old; });
}
__forceinline__ void __threadfence() {}

// ---- functions that are instructions there ------------------------------------------------------
__forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__forceinline__ int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__forceinline__ unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(uint64_t{x} * y >> 32);
}
__forceinline__ float __uint_as_float(unsigned x) {
  float value;
  __builtin_memcpy(&value, &x, sizeof value);
  return value;
}
__forceinline__ unsigned __float_as_uint(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class T>
__forceinline__ T __ldg(const T* address) {
  return *address;
}
__forceinline__ float rsqrtf(float x) { return 1 / std::sqrt(x); }
__forceinline__ double rsqrt(double x) { return 1 / std::sqrt(x); }

}  // namespace
