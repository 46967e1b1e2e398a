// What a device computes of pooling and resampling, in one to three dims: those that are missing
// have size 1. Strides are in elements.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace tt {

// The windows of a dim: output i sees positions start[i] + t * step of x for lo[i] <= t < hi[i].
struct WindowAxis {
  int64_t in, out;  // sizes of x and y
  int64_t taps;     // of a whole window; those outside of x count
  int64_t step;
  const int64_t *start, *lo, *hi;
  int64_t first, last, stride;  // outputs [first, last) see all taps, from starts `stride` apart
  bool overlaps;                // whether a position is seen by several outputs
};

// y = the largest element of every window of x, and `where` which tap that is: the first of
// equals; of NaN, which is larger than all, the last.
struct MaxPoolArgs {
  int64_t batch, channels;
  WindowAxis axis[3];
  void *x, *y, *where;
  int64_t x_strides[5], y_strides[5], where_strides[5];  // (N, C, D, H, W)
  bool wide;                                             // `where` is int32, else uint8
  bool channels_last;                                    // of what is written: y and where, or x
  const int64_t* tap;  // offsets of taps in x: (d * taps_h + h) * taps_w + w
};

// A linear map of a dim: output i is the sum of weight[k] * x[source[k]] over begin[i] <= k <
// begin[i + 1]. The one of a user's call divides its sums by divisor[i]; a transposed one, which
// is the gradient, divides x[i] by divisor[i] first.
struct LinearAxis {
  int64_t in, out;
  const int64_t *begin, *source;
  const void *weight, *divisor;  // of x's dtype; null: all 1
  // Outputs [first, last) each sum `taps` elements that follow one another, the first of them
  // `step` behind that of the output before; or with repeat > 1, each element becomes that many
  // outputs. Weights all 1.
  int64_t first, last, taps, step, repeat;
};

// y = x with a linear map of each dim, one after another.
struct ResampleArgs {
  int64_t batch, channels;
  LinearAxis axis[3];
  const void* x;
  void* y;
  int64_t x_strides[5], y_strides[5];
  double weight, divisor;  // of all elements, beside those of the axes
  bool transposed;
  bool channels_last;  // of y
};

// An image's windows as columns: row (c * taps_h + h) * taps_w + w is what tap (h, w) of all
// windows sees of channel c; 0 outside of the image.
struct FoldArgs {
  int64_t batch, channels, size[2], windows[2], taps[2], stride[2], padding[2], dilation[2];
  void *image, *columns;
  int64_t image_strides[4], column_strides[3];  // (N, C, H, W), (N, row, window)
};

// The same for float32, float64, int64, uint8; max pooling without the last.
struct PoolTable {
  void (*max[3])(const MaxPoolArgs&);
  void (*max_scatter[3])(const MaxPoolArgs&);  // x = y where a window has its largest, else 0
  void (*max_gather[3])(const MaxPoolArgs&);   // y = x where it has
  void (*resample[4])(const ResampleArgs&);
  void (*unfold[2])(const FoldArgs&);  // columns from the image
  void (*fold[2])(const FoldArgs&);    // the image, whose plane is dense, as sums of columns
};

constexpr int pool_kind(DType dtype) {
  return dtype == DType::Float32   ? 0
         : dtype == DType::Float64 ? 1
         : dtype == DType::Int64   ? 2
         : dtype == DType::UInt8   ? 3
                                   : -1;
}

}  // namespace tt
