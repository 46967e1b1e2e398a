// Convolutions whose channels do not mix: each channel of x is a group of its own.
//
// There is no product of matrices in them. A row of pixels of one channel, and a tap, make one
// multiply-add of two rows; where channels lie side by side in memory, those of one pixel do.
// Every element of a result is a sum in one order: taps for y and x, pixels by image for w.
#pragma once
#include "cpu/conv_gather.h"
#include "cpu/gemm.h"
#include "cpu/tasks.h"

namespace tt::cpu {
namespace {

// Which row of x, and which part of it, a row of y sees through a tap.
struct RowOverlap {
  bool any;
  int64_t x;          // offset in an image of x of the pixel that y's pixel `low` sees
  int64_t low, high;  // pixels of y's row
};

inline RowOverlap overlap_of(const ConvArgs& g, int64_t d, int64_t h, int64_t tap) {
  const int64_t t[] = {tap / g.taps[2] / g.taps[1], tap / g.taps[2] % g.taps[1], tap % g.taps[2]};
  const int64_t row[] = {d, h};
  int64_t x = 0;
  for (int i = 0; i < 2; ++i) {
    const int64_t at = row[i] * g.stride[i] - g.padding[i] + t[i] * g.dilation[i];
    if (!inside(at, g.x_size[i])) return {false, 0, 0, 0};
    x += at * g.x_strides[i + 2];
  }
  const int64_t w = t[2] * g.dilation[2] - g.padding[2];
  const Span span = inside_span(w, g.stride[2], g.y_size[2], g.x_size[2]);
  return {span.low < span.high, x + (w + span.low * g.stride[2]) * g.x_strides[4], span.low,
          span.high};
}

inline int64_t tap_offset(const ConvArgs& g, int64_t tap) {
  return tap / g.taps[2] / g.taps[1] * g.w_strides[2] +
         tap / g.taps[2] % g.taps[1] * g.w_strides[3] + tap % g.taps[2] * g.w_strides[4];
}

// to[i] += factor * from[i]
template <class T>
inline void add_scaled(T* to, int64_t to_step, const T* from, int64_t from_step, T factor,
                       int64_t count) {
  if (to_step == 1 && from_step == 1) {
    int64_t i = 0;
    for (; i + lanes<T> <= count; i += lanes<T>) {
      store(to + i, load(to + i) + factor * load(from + i));
    }
    for (; i < count; ++i) to[i] += factor * from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] += factor * from[i * from_step];
  }
}

// One channel of y (`o` of all) in image n meets its channel of x: visit(x, y, tap, count) for
// every pair of rows, pixels of x being stride * x_strides[4] apart.
template <class T, class Visit>
void for_each_row(const ConvArgs& g, int64_t n, int64_t o, const Visit& visit) {
  T* x = static_cast<T*>(g.x) + n * g.x_strides[0] + o / g.y_channels * g.x_strides[1];
  T* y = static_cast<T*>(g.y) + n * g.y_strides[0] + o * g.y_strides[1];
  const int64_t taps = g.taps[0] * g.taps[1] * g.taps[2];
  for (int64_t d = 0; d < g.y_size[0]; ++d) {
    for (int64_t h = 0; h < g.y_size[1]; ++h) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const RowOverlap at = overlap_of(g, d, h, tap);
        if (!at.any) continue;
        visit(x + at.x, y + d * g.y_strides[2] + h * g.y_strides[3] + at.low * g.y_strides[4], tap,
              at.high - at.low);
      }
    }
  }
}

// Sets an image's channel to a value.
template <class T>
void fill_channel(T* to, const int64_t* size, const int64_t* strides, T value) {
  for (int64_t d = 0; d < size[0]; ++d) {
    for (int64_t h = 0; h < size[1]; ++h) {
      T* row = to + d * strides[2] + h * strides[3];
      for (int64_t w = 0; w < size[2]; ++w) row[w * strides[4]] = value;
    }
  }
}

template <class T>
void depthwise_y(const ConvArgs& g, int64_t n, int64_t o) {
  const int64_t x_step = g.stride[2] * g.x_strides[4], y_step = g.y_strides[4];
  const T* w = static_cast<const T*>(g.w) + o * g.w_strides[0];
  const T bias = g.bias ? element(static_cast<const T*>(g.bias) + o * g.bias_stride) : T(0);
  fill_channel(static_cast<T*>(g.y) + n * g.y_strides[0] + o * g.y_strides[1], g.y_size,
               g.y_strides, bias);
  for_each_row<T>(g, n, o, [=, &g](const T* x, T* y, int64_t tap, int64_t count) {
    add_scaled(y, y_step, x, x_step, element(w + tap_offset(g, tap)), count);
  });
}

// `c` is the channel of x, which the y_channels of its group share.
template <class T>
void depthwise_x(const ConvArgs& g, int64_t n, int64_t c) {
  const int64_t x_step = g.stride[2] * g.x_strides[4], y_step = g.y_strides[4];
  const T bias = g.bias ? element(static_cast<const T*>(g.bias) + c * g.bias_stride) : T(0);
  fill_channel(static_cast<T*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1], g.x_size,
               g.x_strides, bias);
  for (int64_t o = c * g.y_channels; o < (c + 1) * g.y_channels; ++o) {
    const T* w = static_cast<const T*>(g.w) + o * g.w_strides[0];
    for_each_row<T>(g, n, o, [=, &g](T* x, const T* y, int64_t tap, int64_t count) {
      add_scaled(x, x_step, y, y_step, element(w + tap_offset(g, tap)), count);
    });
  }
}

// The sum of x[i] * y[i]: product i goes to sum i % L of L.
template <class T>
inline Vec<T> dot(Vec<T> sum, const T* x, int64_t x_step, const T* y, int64_t y_step,
                  int64_t count) {
  constexpr int n = lanes<T>;
  int64_t i = 0;
  if (x_step == 1 && y_step == 1) {
    for (; i + n <= count; i += n) sum += load(x + i) * load(y + i);
  }
  for (; i < count; ++i) sum[i % n] += x[i * x_step] * y[i * y_step];
  return sum;
}

constexpr int64_t kTapsAtOnce = 64;

template <class T>
void depthwise_w(const ConvArgs& g, int64_t o) {
  const int64_t x_step = g.stride[2] * g.x_strides[4], y_step = g.y_strides[4];
  const int64_t taps = g.taps[0] * g.taps[1] * g.taps[2];
  T* w = static_cast<T*>(g.w) + o * g.w_strides[0];
  for (int64_t first = 0; first < taps; first += kTapsAtOnce) {
    const int64_t end = smaller(taps, first + kTapsAtOnce);
    T totals[kTapsAtOnce] = {};
    for (int64_t n = 0; n < g.batch; ++n) {
      Vec<T> sums[kTapsAtOnce];
      for (int64_t tap = first; tap < end; ++tap) sums[tap - first] = Vec<T>{};
      for_each_row<T>(g, n, o, [&](const T* x, const T* y, int64_t tap, int64_t count) {
        if (tap < first || tap >= end) return;
        sums[tap - first] = dot(sums[tap - first], x, x_step, y, y_step, count);
      });
      for (int64_t tap = first; tap < end; ++tap) {
        T total = 0;
        for (int lane = 0; lane < lanes<T>; ++lane) total += sums[tap - first][lane];
        totals[tap - first] += total;
      }
    }
    for (int64_t tap = first; tap < end; ++tap) w[tap_offset(g, tap)] = totals[tap - first];
  }
}

template <class T>
void depthwise(const ConvArgs& g, ConvResult result) {
  const int64_t channels = g.groups * g.y_channels;
  const double work = double(g.batch * g.y_size[0] * g.y_size[1] * g.y_size[2]) *
                      double(g.taps[0] * g.taps[1] * g.taps[2]) * double(channels);
  const int workers = work > kParallelWork ? num_threads() : 1;
  if (result == ConvResult::Y) {
    run_tasks(g.batch * channels, workers,
              [&](int64_t task, int64_t) { depthwise_y<T>(g, task / channels, task % channels); });
  } else if (result == ConvResult::X) {
    run_tasks(g.batch * g.groups, workers,
              [&](int64_t task, int64_t) { depthwise_x<T>(g, task / g.groups, task % g.groups); });
  } else {
    run_tasks(channels, workers, [&](int64_t task, int64_t) { depthwise_w<T>(g, task); });
  }
}

}  // namespace
}  // namespace tt::cpu
