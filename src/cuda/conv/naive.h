// Convolutions as they are defined, of integers: a thread per element of the result, which sums all
// products that it is in.
#pragma once
#include "core/formulas/wrapping.h"
#include "core/tables/conv.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"

namespace tt::cuda {
namespace {

// Where a window of y looks in x through a tap: answers whether that is inside.
__device__ bool look(const ConvArgs& g, const int64_t (&window)[3], const int64_t (&tap)[3],
                     int64_t (&at)[3]) {
  bool is_inside = true;
  for (int d = 0; d < 3; ++d) {
    at[d] = window[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
    is_inside = is_inside && 0 <= at[d] && at[d] < g.x_size[d];
  }
  return is_inside;
}
// The window that sees a pixel of x through a tap: answers whether there is one.
__device__ bool find_window(const ConvArgs& g, const int64_t (&at)[3], const int64_t (&tap)[3],
                            int64_t (&window)[3]) {
  bool is_there = true;
  for (int d = 0; d < 3; ++d) {
    const int64_t start = at[d] + g.padding[d] - tap[d] * g.dilation[d];
    window[d] = start / g.stride[d];
    is_there = is_there && start >= 0 && start % g.stride[d] == 0 && window[d] < g.y_size[d];
  }
  return is_there;
}

__device__ int64_t taps_of(const ConvArgs& g) { return g.taps[0] * g.taps[1] * g.taps[2]; }
__device__ void find_tap(const ConvArgs& g, int64_t index, int64_t (&tap)[3]) {
  for (int d = 2; d >= 0; --d) tap[d] = next_dim(index, g.taps[d]);
}

template <class T>
__device__ Wrapping<T> element(const void* data, const int64_t (&strides)[5], const Pixel& at) {
  return static_cast<Wrapping<T>>(static_cast<const T*>(data)[at.offset(strides)]);
}
// The result holds zeros, or the bias.
template <class T>
__device__ void add(void* data, const int64_t (&strides)[5], const Pixel& at, Wrapping<T> sum) {
  static_cast<T*>(data)[at.offset(strides)] = static_cast<T>(element<T>(data, strides, at) + sum);
}

template <class T>
__global__ void naive_y(const ConvArgs g) {
  const Pixel y = pixel_at(thread_index(), g.groups * g.y_channels, g.y_size, false);
  if (y.n >= g.batch) return;
  Wrapping<T> sum = 0;
  Pixel x = y, w{y.c, 0, {}};
  for (int64_t tap = 0; tap < taps_of(g); ++tap) {
    find_tap(g, tap, w.at);
    if (!look(g, y.at, w.at, x.at)) continue;
    for (w.c = 0; w.c < g.x_channels; ++w.c) {
      x.c = y.c / g.y_channels * g.x_channels + w.c;
      sum += element<T>(g.x, g.x_strides, x) * element<T>(g.w, g.w_strides, w);
    }
  }
  add<T>(g.y, g.y_strides, y, sum);
}

template <class T>
__global__ void naive_x(const ConvArgs g) {
  const Pixel x = pixel_at(thread_index(), g.groups * g.x_channels, g.x_size, false);
  if (x.n >= g.batch) return;
  Wrapping<T> sum = 0;
  Pixel y = x, w{0, x.c % g.x_channels, {}};
  for (int64_t tap = 0; tap < taps_of(g); ++tap) {
    find_tap(g, tap, w.at);
    if (!find_window(g, x.at, w.at, y.at)) continue;
    for (int64_t o = 0; o < g.y_channels; ++o) {
      w.n = y.c = x.c / g.x_channels * g.y_channels + o;
      sum += element<T>(g.y, g.y_strides, y) * element<T>(g.w, g.w_strides, w);
    }
  }
  add<T>(g.x, g.x_strides, x, sum);
}

template <class T>
__global__ void naive_w(const ConvArgs g) {
  const Pixel w = pixel_at(thread_index(), g.x_channels, g.taps, false);  // n is its O
  if (w.n >= g.groups * g.y_channels) return;
  Wrapping<T> sum = 0;
  const int64_t pixels = g.batch * g.y_size[0] * g.y_size[1] * g.y_size[2];
  for (int64_t index = 0; index < pixels; ++index) {
    Pixel y = pixel_at(index, 1, g.y_size, false), x = y;
    y.c = w.n;
    x.c = w.n / g.y_channels * g.x_channels + w.c;
    if (look(g, y.at, w.at, x.at))
      sum += element<T>(g.x, g.x_strides, x) * element<T>(g.y, g.y_strides, y);
  }
  add<T>(g.w, g.w_strides, w, sum);
}

template <class T>
void naive(const ConvArgs& g, ConvResult result) {
  const auto numel = [](int64_t a, int64_t b, const int64_t (&size)[3]) {
    return a * b * size[0] * size[1] * size[2];
  };
  if (result == ConvResult::Y)
    launch<naive_y<T>>(grid_of(numel(g.batch, g.groups * g.y_channels, g.y_size)), g);
  else if (result == ConvResult::X)
    launch<naive_x<T>>(grid_of(numel(g.batch, g.groups * g.x_channels, g.x_size)), g);
  else
    launch<naive_w<T>>(grid_of(numel(g.groups * g.y_channels, g.x_channels, g.taps)), g);
}

}  // namespace

}  // namespace tt::cuda
