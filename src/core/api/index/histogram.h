// Counting elements by what they are, or by where they lie between edges.
#pragma once
#include "core/ndarray.h"

namespace tt {

// How often each number from 0 occurs in a vector of integers, at least up to `minlength`: int64.
// With weights, the sum of those: float32 of float32, else float64.
NDArray bincount(const NDArray& x, const NDArray* weights, int64_t minlength);

// How many elements of x (or what of their weights) lie in each bin between ascending edges, the
// last of which belongs to the last bin. `uniform` bins are found by their width; those that are
// not `exact` are not checked against the edges. x, edges and weights have one floating point
// dtype.
NDArray histogram(const NDArray& x, const NDArray& edges, const NDArray* weights, bool uniform,
                  bool exact);

}  // namespace tt
