// What a device computes of resampling, in one to three dims: those that are missing have size 1.
// Strides are in elements.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// A linear map of a dim: output i is the sum of weight[k] * x[source[k]] over begin[i] <= k <
// begin[i + 1]. The one of a user's call divides its sums by divisor[i]; a transposed one, which
// is the gradient, divides x[i] by divisor[i] first.
struct LinearAxis {
  int64_t in, out;
  const int64_t *begin, *source;
  const void *weight, *divisor;  // of x's dtype, or float32 of halves; null: all 1
  // Outputs [first, last) each sum `taps` elements that follow one another, the first of them
  // `step` behind that of the output before; or with repeat > 1, each element becomes that many
  // outputs. Weights all 1.
  int64_t first, last, taps, step, repeat;
};

// y = x with a linear map of each dim, one after another.
struct ResampleArgs {
  int64_t batch, channels;
  int64_t item;  // bytes of a weight
  LinearAxis axis[3];
  const void* x;
  void* y;
  int64_t x_strides[5], y_strides[5];
  double weight, divisor;  // of all elements, beside those of the axes
  bool transposed;
  bool channels_last;  // of y
};

// Places: float32, float64, int64, uint8; float16 and bfloat16, or null where they are to be
// converted.
struct ResampleTable {
  void (*resample[6])(const ResampleArgs&);
};

constexpr int pool_kind(DType dtype) {
  return dtype == DType::Float32   ? 0
         : dtype == DType::Float64 ? 1
         : dtype == DType::Int64   ? 2
         : dtype == DType::UInt8   ? 3
                                   : -1;
}

}  // namespace tt
