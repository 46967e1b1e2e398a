// Sorting, and the selection of elements by their order. NaN is the largest; of equal elements the
// first comes first. Each answers [values, indices (int64)]; `outs`: core/result.h.
#pragma once
#include <vector>

#include "core/result.h"

namespace tt {

// Laid out as x, if that is dense.
std::vector<NDArray> sort(const NDArray& x, int64_t dim, bool descending, const Outs& outs = {});

// These are contiguous.
// The k largest or smallest along a dim, in order.
std::vector<NDArray> topk(const NDArray& x, int64_t dim, int64_t k, bool largest,
                          const Outs& outs = {});
// The k-th smallest, counted from 1.
std::vector<NDArray> kthvalue(const NDArray& x, int64_t dim, bool keepdim, int64_t k,
                              const Outs& outs = {});
// The lower of two middle elements. A NaN is the median, unless it is ignored.
std::vector<NDArray> median(const NDArray& x, int64_t dim, bool keepdim, bool ignore_nan,
                            const Outs& outs = {});
// The most frequent element, the smallest of several, and where the last of it stands. A NaN equals
// nothing.
std::vector<NDArray> mode(const NDArray& x, int64_t dim, bool keepdim, const Outs& outs = {});

}  // namespace tt
