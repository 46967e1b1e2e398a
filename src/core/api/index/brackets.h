// Reading and writing by tensors of indices: x[i, j], one per dim.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// x[indices]: one entry per leading dim of x, null for a dim that is kept whole. Integer indices
// broadcast together; a mask stands for the integer indices of its true elements. The index dims
// take the place of the first indexed dim, or the front where indexed dims are not adjacent.
NDArray index(const NDArray& x, const std::vector<const NDArray*>& indices);
// x[indices] = values (broadcast), or += : in row-major order of the index.
void index_put(const NDArray& x, const std::vector<const NDArray*>& indices, const NDArray& values,
               bool accumulate);

}  // namespace tt
