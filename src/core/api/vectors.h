// Products of vectors.
#pragma once
#include "core/ndarray.h"

namespace tt {

// The cross products of vectors of 3 elements along `dim`; the other dims broadcast.
NDArray cross(const NDArray& a, const NDArray& b, int64_t dim);

}  // namespace tt
