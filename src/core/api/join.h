// Joining arrays along a dim.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// Dtypes promote; a 1-d array without elements joins anything. channels_last if all of them are.
// `out`: core/result.h.
NDArray concatenate(const std::vector<const NDArray*>& arrays, int64_t dim,
                    const NDArray* out = nullptr);
// Along a new dim, laid out as concatenate lays out the one that it splits.
NDArray stack(const std::vector<const NDArray*>& arrays, int64_t dim, const NDArray* out = nullptr);

}  // namespace tt
