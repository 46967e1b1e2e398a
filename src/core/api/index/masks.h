// Reading and writing where a bool mask holds, in row-major order.
#pragma once
#include "core/iter.h"

namespace tt {

// (number of nonzero elements, ndim) int64.
NDArray nonzero(const NDArray& x);
// The elements of x where the mask holds, as a vector; both of one shape.
NDArray masked_select(const NDArray& x, const NDArray& mask);
// x, where the mask holds, = value (of one element); the mask broadcasts to x.
void masked_fill(const NDArray& x, const NDArray& mask, const Operand& value);
// x, where the mask holds, = the first elements of source; the mask broadcasts to x.
void masked_scatter(const NDArray& x, const NDArray& mask, const NDArray& source);

}  // namespace tt
