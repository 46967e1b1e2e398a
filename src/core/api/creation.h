// New arrays: of one value, and of evenly spaced ones.
#pragma once
#include "core/ndarray.h"

namespace tt {

NDArray full(const Dims& shape, const Scalar& value, DType dtype, const Device& device);
// On the device of x.
NDArray new_full(const NDArray& x, const Dims& shape, const Scalar& value, DType dtype);
// start, start + step, ...: `count` values. `out`, here and below: core/result.h.
NDArray arange(const Scalar& start, const Scalar& step, int64_t count, DType dtype,
               const NDArray* out, const Device& device);
// From first to last, both exact: each half is counted from its own end.
NDArray linspace(double first, double last, int64_t count, DType dtype, const NDArray* out,
                 const Device& device);
// base to the powers of evenly spaced exponents, which are computed in float64.
NDArray logspace(double first, double last, int64_t count, double base, DType dtype,
                 const Device& device);

}  // namespace tt
