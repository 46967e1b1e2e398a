// Finding elements: among sorted boundaries, and among others. `out`: core/result.h.
#pragma once
#include "core/result.h"

namespace tt {

// For each value the number of boundaries below it (not above it, if `right`); NaN is above all.
// The boundaries are 1-d, or have the values' leading dims; each line is in ascending order, if
// read in the order of `sorter` where that is given. Int64, or int32; contiguous.
NDArray searchsorted(const NDArray& boundaries, const NDArray& values, bool right, bool int32,
                     const NDArray* sorter, const NDArray* out = nullptr);

// Whether each element (not) equals some of the others; NaN equals nothing. Contiguous.
NDArray isin(const NDArray& x, const NDArray& others, bool invert, const NDArray* out = nullptr);

}  // namespace tt
