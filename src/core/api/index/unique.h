// Finding elements, or rows, that occur again.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// [different elements, which of them each element is (of x's shape), how often each occurs], in
// ascending order, or in order of appearance where only neighbours are compared (`consecutive`).
// What is not wanted of the last two is empty.
std::vector<NDArray> unique(const NDArray& x, bool consecutive, bool inverse, bool counts);
// The same for the rows of a matrix: [where each first stands, which one each is, how often].
std::vector<NDArray> unique_rows(const NDArray& x, bool consecutive, bool inverse, bool counts);

}  // namespace tt
