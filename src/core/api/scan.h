// Scans: what has been seen so far along a dim. All results are contiguous. `out`, in
// all of these: core/result.h.
#pragma once
#include <optional>
#include <vector>

#include "core/result.h"

namespace tt {

// Sums and products are taken in `dtype`; without it in x's, integers and bools in int64.
// `reverse` starts at the end of the dim.
NDArray cumsum(const NDArray& x, int64_t dim, std::optional<DType> dtype, bool reverse,
               const NDArray* out = nullptr);
NDArray cumprod(const NDArray& x, int64_t dim, std::optional<DType> dtype,
                const NDArray* out = nullptr);
NDArray logcumsumexp(const NDArray& x, int64_t dim, const NDArray* out = nullptr);

// [largest so far, where it stands (the last of equal ones, int64)]; NaN is largest and smallest.
std::vector<NDArray> cummax(const NDArray& x, int64_t dim, const Outs& outs = {});
std::vector<NDArray> cummin(const NDArray& x, int64_t dim, const Outs& outs = {});

// y[k] = x[k] + a[k] y[k-1]; in reverse its transpose, y[k] = x[k] + a[k+1] y[k+1]. x and a have
// one shape and floating point dtype. The gradients of products and logarithms of sums are such
// scans.
NDArray linear_scan(const NDArray& x, const NDArray& a, int64_t dim, bool reverse);

}  // namespace tt
