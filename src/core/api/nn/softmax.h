// softmax and log_softmax of arrays of any layout. Results are contiguous.
#pragma once
#include "core/ndarray.h"

namespace tt {

NDArray softmax(const NDArray& x, int64_t dim, bool log, const NDArray* out = nullptr);
// The gradient is written over y where it may `overwrite` it and is laid out like it.
NDArray softmax_backward(const NDArray& grad, const NDArray& y, int64_t dim, bool log,
                         bool overwrite);

}  // namespace tt
