// Max pooling: a thread per element of what is written.
//
// The gradient goes to where the windows have their largest. Several windows may see one element of
// x: it asks all of them, and sums what they have for it in their order, instead of each window
// adding to x.
#include <vector>

#include "core/formulas/wrapping.h"
#include "core/tables/pool.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// A WindowAxis, whose arrays are the device's here. The windows that see position p of x are among
// those from seen_from[p] to before seen_to[p].
struct Axis {
  int64_t in, out, taps, step;
  const int64_t *start, *lo, *hi, *seen_from, *seen_to;
};

// MaxPoolArgs by value.
struct Windows {
  int64_t batch, channels;
  Axis axis[3];
  void *x, *y, *where;
  int64_t x_strides[5], y_strides[5], where_strides[5];
  bool wide, channels_last;
};

// The numbers of three axes, in one piece of the device's memory.
class AxisNumbers {
 public:
  explicit AxisNumbers(const MaxPoolArgs& g) {
    for (const WindowAxis& axis : g.axis) {
      for (const int64_t* numbers : {axis.start, axis.lo, axis.hi})
        host_.insert(host_.end(), numbers, numbers + axis.out);
      std::vector<int64_t> from(axis.in, axis.out), to(axis.in, 0);
      for (int64_t i = 0; i < axis.out; ++i) {
        for (int64_t t = axis.lo[i]; t < axis.hi[i]; ++t) {
          const int64_t at = axis.start[i] + t * axis.step;
          if (i < from[at]) from[at] = i;
          to[at] = i + 1;
        }
      }
      host_.insert(host_.end(), from.begin(), from.end());
      host_.insert(host_.end(), to.begin(), to.end());
    }
  }

  const int64_t* data() const { return host_.data(); }
  int64_t size() const { return static_cast<int64_t>(host_.size()); }

 private:
  std::vector<int64_t> host_;
};

Windows on_device(const MaxPoolArgs& g, const int64_t* numbers) {
  Windows all{g.batch, g.channels, {}, g.x, g.y, g.where, {}, {}, {}, g.wide, g.channels_last};
  for (int d = 0; d < 5; ++d) {
    all.x_strides[d] = g.x_strides[d];
    all.y_strides[d] = g.y_strides[d];
    all.where_strides[d] = g.where_strides[d];
  }
  const auto next = [&](int64_t count) { return numbers += count, numbers - count; };
  for (int d = 0; d < 3; ++d) {
    const WindowAxis& axis = g.axis[d];
    Axis& to = all.axis[d];
    to = {axis.in,        axis.out,       axis.taps,     axis.step,    next(axis.out),
          next(axis.out), next(axis.out), next(axis.in), next(axis.in)};
  }
  return all;
}

__device__ Pixel place_in_y(const Windows& g, int64_t index) {
  return pixel_at(index, g.channels, {g.axis[0].out, g.axis[1].out, g.axis[2].out},
                  g.channels_last);
}
__device__ Pixel place_in_x(const Windows& g, int64_t index) {
  return pixel_at(index, g.channels, {g.axis[0].in, g.axis[1].in, g.axis[2].in}, g.channels_last);
}
int64_t x_numel(const MaxPoolArgs& g) {
  return g.batch * g.channels * g.axis[0].in * g.axis[1].in * g.axis[2].in;
}
int64_t y_numel(const MaxPoolArgs& g) {
  return g.batch * g.channels * g.axis[0].out * g.axis[1].out * g.axis[2].out;
}

__device__ int64_t tap_of(const Windows& g, int64_t d, int64_t h, int64_t w) {
  return (d * g.axis[1].taps + h) * g.axis[2].taps + w;
}
// What a window of y sees through a tap.
__device__ Pixel seen_through(const Windows& g, const Pixel& window, int64_t tap) {
  const int64_t taps[] = {tap / g.axis[2].taps / g.axis[1].taps,
                          tap / g.axis[2].taps % g.axis[1].taps, tap % g.axis[2].taps};
  Pixel seen = window;
  for (int d = 0; d < 3; ++d) seen.at[d] = g.axis[d].start[window.at[d]] + taps[d] * g.axis[d].step;
  return seen;
}

template <class T>
__global__ void max_of_window(const Windows g, const int64_t numel) {
  const int64_t index = thread_index();
  if (index >= numel) return;
  const Pixel window = place_in_y(g, index);
  const T* const x = static_cast<const T*>(g.x);
  const int64_t i = window.at[0], j = window.at[1], k = window.at[2];
  const Axis &depth = g.axis[0], &height = g.axis[1], &width = g.axis[2];
  int64_t largest = tap_of(g, depth.lo[i], height.lo[j], width.lo[k]);
  T peak = x[seen_through(g, window, largest).offset(g.x_strides)];
  for (int64_t d = depth.lo[i]; d < depth.hi[i]; ++d) {
    for (int64_t h = height.lo[j]; h < height.hi[j]; ++h) {
      for (int64_t w = width.lo[k]; w < width.hi[k]; ++w) {
        const int64_t tap = tap_of(g, d, h, w);
        const T value = x[seen_through(g, window, tap).offset(g.x_strides)];
        if (value > peak || value != value) {
          peak = value;
          largest = tap;
        }
      }
    }
  }
  static_cast<T*>(g.y)[window.offset(g.y_strides)] = peak;
  const int64_t to = window.offset(g.where_strides);
  if (g.wide)
    static_cast<int32_t*>(g.where)[to] = static_cast<int32_t>(largest);
  else
    static_cast<uint8_t*>(g.where)[to] = static_cast<uint8_t>(largest);
}

__device__ int64_t largest_of(const Windows& g, const Pixel& window) {
  const int64_t from = window.offset(g.where_strides);
  return g.wide ? static_cast<const int32_t*>(g.where)[from]
                : static_cast<const uint8_t*>(g.where)[from];
}

template <class T>
__global__ void take_largest(const Windows g, const int64_t numel) {
  const int64_t index = thread_index();
  if (index >= numel) return;
  const Pixel window = place_in_y(g, index);
  const Pixel seen = seen_through(g, window, largest_of(g, window));
  static_cast<T*>(g.y)[window.offset(g.y_strides)] =
      static_cast<const T*>(g.x)[seen.offset(g.x_strides)];
}

// The tap through which a window sees position p, or -1.
__device__ int64_t tap_at(const Axis& axis, int64_t window, int64_t p) {
  const int64_t distance = p - axis.start[window], tap = distance / axis.step;
  const bool is_seen =
      distance >= 0 && distance % axis.step == 0 && tap >= axis.lo[window] && tap < axis.hi[window];
  return is_seen ? tap : -1;
}

// A thread per element of x, which may be the largest of several windows.
template <class T>
__global__ void sum_of_windows(const Windows g, const int64_t numel) {
  const int64_t index = thread_index();
  if (index >= numel) return;
  const Pixel place = place_in_x(g, index);
  const int64_t* p = place.at;
  const Axis &depth = g.axis[0], &height = g.axis[1], &width = g.axis[2];
  Wrapping<T> sum = 0;
  Pixel window = place;
  for (int64_t i = depth.seen_from[p[0]]; i < depth.seen_to[p[0]]; ++i) {
    const int64_t d = tap_at(depth, i, p[0]);
    window.at[0] = i;
    for (int64_t j = height.seen_from[p[1]]; d >= 0 && j < height.seen_to[p[1]]; ++j) {
      const int64_t h = tap_at(height, j, p[1]);
      window.at[1] = j;
      for (int64_t k = width.seen_from[p[2]]; h >= 0 && k < width.seen_to[p[2]]; ++k) {
        const int64_t w = tap_at(width, k, p[2]);
        window.at[2] = k;
        if (w >= 0 && largest_of(g, window) == tap_of(g, d, h, w))
          sum += static_cast<Wrapping<T>>(static_cast<const T*>(g.y)[window.offset(g.y_strides)]);
      }
    }
  }
  static_cast<T*>(g.x)[place.offset(g.x_strides)] = static_cast<T>(sum);
}

template <auto kernel>
void run(const MaxPoolArgs& g, int64_t numel) {
  const AxisNumbers numbers(g);
  const Scratch<int64_t> copy(numbers.data(), numbers.size());
  launch<kernel>(grid_of(numel), on_device(g, copy.data()), numel);
}
template <class T>
void max(const MaxPoolArgs& g) {
  run<max_of_window<T>>(g, y_numel(g));
}
template <class T>
void max_scatter(const MaxPoolArgs& g) {
  run<sum_of_windows<T>>(g, x_numel(g));
}
template <class T>
void max_gather(const MaxPoolArgs& g) {
  run<take_largest<T>>(g, y_numel(g));
}

}  // namespace

const PoolTable pool_table = {{max<float>, max<double>, max<int64_t>},
                              {max_scatter<float>, max_scatter<double>, max_scatter<int64_t>},
                              {max_gather<float>, max_gather<double>, max_gather<int64_t>}};

}  // namespace tt::cuda
