// Copies: between layouts, between dtypes, and of one value to every element.
#pragma once
#include "core/iter.h"

namespace tt {

NDArray contiguous(const NDArray& x);  // x itself if it is
NDArray clone(const NDArray& x);       // keeps dense strides
// Always a copy; in `out`, if that is of x's shape and this dtype, and apart from it.
NDArray astype(const NDArray& x, DType dtype, const NDArray* out = nullptr);
NDArray converted(const NDArray& x, DType dtype);      // x itself if it is of that dtype
NDArray reshape(const NDArray& x, const Dims& shape);  // a view where the strides allow it
// out[...] = x, broadcast and converted. A float that goes to an integer is truncated.
void copy_into(const NDArray& out, const Operand& x);
NDArray full(const Dims& shape, const Scalar& value, DType dtype);
// start, start + step, ...: `count` values. `out`, here and below: core/api/result.h.
NDArray arange(const Scalar& start, const Scalar& step, int64_t count, DType dtype,
               const NDArray* out = nullptr);
// From first to last, both exact: each half is counted from its own end.
NDArray linspace(double first, double last, int64_t count, DType dtype,
                 const NDArray* out = nullptr);
// base to the powers of evenly spaced exponents, which are computed in float64.
NDArray logspace(double first, double last, int64_t count, double base, DType dtype);

}  // namespace tt
