// What a device computes of max pooling, in one to three dims: those that are missing have size 1.
// Strides are in elements. (Average pooling is a matter of resample.h.)
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

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
  bool to_x = false;                                     // whether x is written, from y
  int64_t x_strides[5], y_strides[5], where_strides[5];  // (N, C, D, H, W)
  bool wide;                                             // `where` is int32, else uint8
  bool channels_last;                                    // of what is written: y and where, or x
  const int64_t* tap;  // offsets of taps in x: (d * taps_h + h) * taps_w + w
};

// The same for float32, float64, int64 (pool_kind), float16 and bfloat16; halves have all or none,
// and scatter no windows that overlap: what is added up there is to be rounded once.
struct PoolTable {
  void (*max[5])(const MaxPoolArgs&);
  void (*max_scatter[5])(const MaxPoolArgs&);  // x = y where a window has its largest, else 0
  void (*max_gather[5])(const MaxPoolArgs&);   // y = x where it has
};

}  // namespace tt
