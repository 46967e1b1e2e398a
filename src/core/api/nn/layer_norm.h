// Layer norm and RMS norm. Results are contiguous.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// Throws where the parameters of a norm of x are not all of its dtype or, beside halves, of
// float32.
void check_parameters(const NDArray& x, std::initializer_list<const NDArray*> parameters);

// How many dims `normalized_shape` has; throws where they are not the last ones of `shape`.
int64_t normalized_dims(const Dims& shape, const Dims& normalized_shape);
// Over the last `count` dims; `centered` as LayerNormArgs has it. (y, what backward needs)
std::vector<NDArray> layer_norm(const NDArray& x, int64_t count, const NDArray* weight,
                                const NDArray* bias, double eps, bool centered);
// The gradients of x and, if `of_weights`, of weight and bias: (size) of the normalised dims.
std::vector<NDArray> layer_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats, int64_t count,
                                         bool centered, bool of_weights, bool overwrite);

}  // namespace tt
