// Reductions over any dims, and the positions of extremes.
#pragma once
#include <optional>
#include <vector>

#include "core/ndarray.h"
#include "core/result.h"
#include "core/tables/reduce.h"

namespace tt {

// `out`, in all of these: core/result.h.

// dims: nullopt is all of them, as is an empty list. The result is contiguous. `dtype`: convert x
// to it first.
NDArray reduce(Reduce op, const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
               std::optional<DType> dtype = std::nullopt, const NDArray* out = nullptr);
// log(sum(exp(x))), without overflow.
NDArray logsumexp(const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
                  const NDArray* out = nullptr);
// The index (int64) of the first largest or smallest element along `dim`; NaN counts as both.
NDArray argmax(const NDArray& x, int64_t dim, bool keepdim, const NDArray* out = nullptr);
NDArray argmin(const NDArray& x, int64_t dim, bool keepdim, const NDArray* out = nullptr);
// [the elements there, the indices].
std::vector<NDArray> max_along(const NDArray& x, int64_t dim, bool keepdim, const Outs& outs = {});
std::vector<NDArray> min_along(const NDArray& x, int64_t dim, bool keepdim, const Outs& outs = {});

}  // namespace tt
