// Finding elements: among sorted boundaries, among others, and those that occur again. `out`:
// core/result.h.
#pragma once
#include <vector>

#include "core/result.h"

namespace tt {

// For each value the number of boundaries below it (not above it, if `right`); NaN is above all.
// The boundaries are 1-d, or have the values' leading dims; each line is in ascending order, if
// read in the order of `sorter` where that is given. Int64, or int32; contiguous.
NDArray searchsorted(const NDArray& boundaries, const NDArray& values, bool right, bool int32,
                     const NDArray* sorter, const NDArray* out = nullptr);

// Whether each element (not) equals some of the others; NaN equals nothing. Contiguous.
NDArray isin(const NDArray& x, const NDArray& others, bool invert, const NDArray* out = nullptr);

// [different elements, which of them each element is (of x's shape), how often each occurs], in
// ascending order, or in order of appearance where only neighbours are compared (`consecutive`).
// What is not wanted of the last two is empty.
std::vector<NDArray> unique(const NDArray& x, bool consecutive, bool inverse, bool counts);
// The same for the rows of a matrix: [where each first stands, which one each is, how often].
std::vector<NDArray> unique_rows(const NDArray& x, bool consecutive, bool inverse, bool counts);

}  // namespace tt
