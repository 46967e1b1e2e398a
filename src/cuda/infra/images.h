// Positions in arrays (N, C, D, H, W), for kernels with a thread per element.
#pragma once
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

// Takes the last dim off a position in row-major order.
__device__ inline int64_t next_dim(int64_t& position, int64_t size) {
  const int64_t i = position % size;
  position /= size;
  return i;
}

struct Pixel {
  int64_t n, c, at[3];

  __device__ int64_t offset(const int64_t (&strides)[5]) const {
    return n * strides[0] + c * strides[1] + at[0] * strides[2] + at[1] * strides[3] +
           at[2] * strides[4];
  }
};

// Element `index` in the order of memory, so that threads side by side take elements side by side.
__device__ inline Pixel pixel_at(int64_t index, int64_t channels, const int64_t (&size)[3],
                                 bool channels_last) {
  Pixel pixel;
  if (channels_last) pixel.c = next_dim(index, channels);
  for (int d = 2; d >= 0; --d) pixel.at[d] = next_dim(index, size[d]);
  if (!channels_last) pixel.c = next_dim(index, channels);
  pixel.n = index;
  return pixel;
}

}  // namespace
}  // namespace tt::cuda
