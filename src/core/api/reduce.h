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
// The squared distances from the mean (or from 0), over `freedom`, or the root of that. No square
// overflows or vanishes on the way. Of no elements: NaN (or 0).
NDArray variance(const NDArray& x, const std::optional<Dims>& dims, bool keepdim, double freedom,
                 bool root, bool centered);
// [the largest or smallest elements along `dim` (if wanted), the index (int64) of the first of
// them]; NaN counts as both.
std::vector<NDArray> extremes(const NDArray& x, int64_t dim, bool keepdim, bool largest,
                              bool with_values, const Outs& outs);
template <bool largest>
std::vector<NDArray> extremes_along(const NDArray& x, int64_t dim, bool keepdim, const Outs& outs) {
  return extremes(x, dim, keepdim, largest, true, outs);
}
template <bool largest>
NDArray positions_along(const NDArray& x, int64_t dim, bool keepdim, const NDArray* out) {
  return extremes(x, dim, keepdim, largest, false, {nullptr, out})[0];
}

}  // namespace tt
