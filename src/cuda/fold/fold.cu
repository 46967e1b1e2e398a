// Images as columns, one per window, and back: a thread per element of what is written. An element
// of the image sums what all windows that see it have there, tap by tap.
#include "core/tables/fold.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// Threads side by side take windows side by side.
template <class T>
__global__ void unfold_element(const FoldArgs g, const int64_t numel) {
  const int64_t index = thread_index();
  if (index >= numel) return;
  const int64_t windows = g.windows[0] * g.windows[1], taps = g.taps[0] * g.taps[1];
  const int64_t window = index % windows, row = index / windows % (g.channels * taps);
  const int64_t n = index / windows / (g.channels * taps), c = row / taps, tap = row % taps;
  const int64_t h =
      window / g.windows[1] * g.stride[0] + tap / g.taps[1] * g.dilation[0] - g.padding[0];
  const int64_t w =
      window % g.windows[1] * g.stride[1] + tap % g.taps[1] * g.dilation[1] - g.padding[1];
  const bool is_inside = 0 <= h && h < g.size[0] && 0 <= w && w < g.size[1];
  const int64_t from = n * g.image_strides[0] + c * g.image_strides[1] + h * g.image_strides[2] +
                       w * g.image_strides[3];
  const int64_t to =
      n * g.column_strides[0] + row * g.column_strides[1] + window * g.column_strides[2];
  static_cast<T*>(g.columns)[to] = is_inside ? static_cast<const T*>(g.image)[from] : T(0);
}

// The window along dim d that sees position p through a tap, or -1.
__device__ int64_t window_at(const FoldArgs& g, int d, int64_t p, int64_t tap) {
  const int64_t start = p + g.padding[d] - tap * g.dilation[d];
  const bool is_seen = start >= 0 && start % g.stride[d] == 0 && start / g.stride[d] < g.windows[d];
  return is_seen ? start / g.stride[d] : -1;
}

template <class T>
__global__ void fold_element(const FoldArgs g, const int64_t numel) {
  const int64_t index = thread_index();
  if (index >= numel) return;
  const int64_t w = index % g.size[1], h = index / g.size[1] % g.size[0];
  const int64_t plane = index / g.size[1] / g.size[0], c = plane % g.channels,
                n = plane / g.channels;
  const T* const columns = static_cast<const T*>(g.columns) + n * g.column_strides[0] +
                           c * g.taps[0] * g.taps[1] * g.column_strides[1];
  T sum = 0;
  for (int64_t i = 0; i < g.taps[0]; ++i) {
    const int64_t row = window_at(g, 0, h, i);
    for (int64_t j = 0; row >= 0 && j < g.taps[1]; ++j) {
      const int64_t column = window_at(g, 1, w, j);
      if (column >= 0)
        sum += columns[(i * g.taps[1] + j) * g.column_strides[1] +
                       (row * g.windows[1] + column) * g.column_strides[2]];
    }
  }
  static_cast<T*>(g.image)[n * g.image_strides[0] + c * g.image_strides[1] +
                           h * g.image_strides[2] + w * g.image_strides[3]] = sum;
}

template <class T>
void unfold(const FoldArgs& g) {
  const int64_t numel = g.batch * g.channels * g.taps[0] * g.taps[1] * g.windows[0] * g.windows[1];
  launch<unfold_element<T>>(grid_of(numel), g, numel);
}
template <class T>
void fold(const FoldArgs& g) {
  const int64_t numel = g.batch * g.channels * g.size[0] * g.size[1];
  launch<fold_element<T>>(grid_of(numel), g, numel);
}

}  // namespace

const FoldTable fold_table = {{unfold<float>, unfold<double>}, {fold<float>, fold<double>}};

}  // namespace tt::cuda
