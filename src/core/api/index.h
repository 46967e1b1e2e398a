// Reading and writing by integer tensors and masks.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// out[i, j] = x[index[i, j], j] for dim 0; the index has x's number of dims and is no larger
// elsewhere.
NDArray gather(const NDArray& x, int64_t dim, const NDArray& index);
// The reverse: x[index[i, j], j] = source[i, j], or += : in row-major order of the index.
void scatter(const NDArray& x, int64_t dim, const NDArray& index, const NDArray& source);
void scatter_add(const NDArray& x, int64_t dim, const NDArray& index, const NDArray& source);

// x[indices]: one entry per leading dim of x, null for a dim that is kept whole. Integer indices
// broadcast together; a mask stands for the integer indices of its true elements. The index dims
// take the place of the first indexed dim, or the front where indexed dims are not adjacent.
NDArray index(const NDArray& x, const std::vector<const NDArray*>& indices);
// x[indices] = values (broadcast), or += : in row-major order of the index.
void index_put(const NDArray& x, const std::vector<const NDArray*>& indices, const NDArray& values,
               bool accumulate);

// (number of nonzero elements, ndim) int64, in row-major order.
NDArray nonzero(const NDArray& x);

NDArray concatenate(const std::vector<const NDArray*>& arrays, int64_t dim);

}  // namespace tt
