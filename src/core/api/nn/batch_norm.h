// Batch, group and instance norm.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// x (N, C, *) in x's memory format: (y, statistics). Those are of each channel where `groups` is 0,
// else of so many groups of channels for each sample; what backward needs of them is kept. The
// running ones are brought up to date; they are used where it is not `training`.
std::vector<NDArray> batch_norm(const NDArray& x, const NDArray* weight, const NDArray* bias,
                                const NDArray* running_mean, const NDArray* running_var,
                                int64_t groups, bool training, double momentum, double eps);
// The gradients of x, weight and bias; of x only if `of_input`. `fixed`: the statistics were given.
std::vector<NDArray> batch_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats,
                                         int64_t groups, bool fixed, bool of_input, bool overwrite);

}  // namespace tt
