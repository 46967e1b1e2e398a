// Whether channels come last in memory: what the kernels of nn's families ask and answer.
#pragma once
#include "core/ndarray.h"

namespace tt {

// As PyTorch's suggest_memory_format, of (N, C, *) with one to three spatial dims.
bool looks_channels_last(const NDArray& x);
// An uninitialised array of shape (N, C, *).
NDArray empty_laid_out(const Dims& shape, DType dtype, bool channels_last);

// x with a batch dim, if it has none: of shape (N, C, *) or (C, *), with `spatial` dims at the end.
NDArray with_batch(const NDArray& x, int spatial);
// Those dims.
Dims spatial_of(const NDArray& x, int spatial);
// (N, C, D, H, W): 0 for the dims that are missing.
void strides_of(const NDArray& x, int64_t* strides);

}  // namespace tt
