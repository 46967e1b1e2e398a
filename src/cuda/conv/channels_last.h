// Copies of halves whose channels come last, for products on tensor cores: reading single halves
// from channels that lie far apart takes longer than these do, and a copy that is read once for
// each tap saves it each time.
#pragma once
#include "core/tables/conv.h"
#include "cuda/infra/block.h"
#include "cuda/infra/divisor.h"
#include "cuda/infra/images.h"
#include "cuda/infra/plan.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {
namespace {

// Pixels of images in memory.
struct Images {
  const void* data;
  int64_t count, channels, size[3], strides[5];  // (N, C, D, H, W)

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
};

constexpr int kSide = 32;

// A block per tile of (channels, pixels) of an image, read along the pixels, written along the
// channels. to (images, pixels, channels).
__global__ void put_channels_last(const Images from, const Divisor height, const Divisor width,
                                  int pixels, uint16_t* const to) {
  __shared__ uint16_t tile[kSide][kSide + 1];
  int64_t image = blockIdx.x;
  const int64_t first_channel = next_dim(image, (from.channels + kSide - 1) / kSide) * kSide;
  const int first_pixel = static_cast<int>(next_dim(image, (pixels + kSide - 1) / kSide)) * kSide;
  const int column = threadIdx.x % kSide;
  const auto* const data = static_cast<const uint16_t*>(from.data) + image * from.strides[0];
  int depth = first_pixel + column;
  const bool is_pixel = depth < pixels;
  const int64_t w = width.next_dim(depth), h = height.next_dim(depth);
  const int64_t offset = depth * from.strides[2] + h * from.strides[3] + w * from.strides[4];
  for (int row = threadIdx.x / kSide; row < kSide; row += kThreads / kSide)
    if (is_pixel && first_channel + row < from.channels)
      tile[row][column] = data[(first_channel + row) * from.strides[1] + offset];
  __syncthreads();
  for (int row = threadIdx.x / kSide; row < kSide; row += kThreads / kSide)
    if (first_pixel + row < pixels && first_channel + column < from.channels)
      to[(image * pixels + first_pixel + row) * from.channels + first_channel + column] =
          tile[column][row];
}

// A copy, while it lives, and how it lies.
class ChannelsLast {
 public:
  explicit ChannelsLast(const Images& from)
      : copy_(from.count * from.channels * from.pixels()),
        strides{from.pixels() * from.channels, 1, from.size[1] * from.size[2] * from.channels,
                from.size[2] * from.channels, from.channels} {
    const int64_t tiles = ceil_div(from.channels, kSide) * ceil_div(from.pixels(), kSide);
    launch<put_channels_last>({from.count * tiles, kThreads}, from, Divisor(from.size[1]),
                              Divisor(from.size[2]), from.pixels(), copy_.data());
  }
  uint16_t* data() const { return copy_.data(); }

 private:
  Scratch<uint16_t> copy_;

 public:
  const int64_t strides[5];
};

}  // namespace
}  // namespace tt::cuda
