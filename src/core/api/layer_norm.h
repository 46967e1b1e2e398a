// Layer norm and RMS norm. Results are contiguous.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// Over the last `count` dims; `centered` as LayerNormArgs has it. (y, what backward needs)
std::vector<NDArray> layer_norm(const NDArray& x, int64_t count, const NDArray* weight,
                                const NDArray* bias, double eps, bool centered);
// The gradients of x and, if `of_weights`, of weight and bias: (size) of the normalised dims.
std::vector<NDArray> layer_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats, int64_t count,
                                         bool centered, bool of_weights, bool overwrite);

}  // namespace tt
