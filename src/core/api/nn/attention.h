// Attention: softmax(scale q k^T + mask) v, without the matrix of probabilities.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// q (*, L, E), k (*, S, E), v (*, S, V), of one floating dtype and the same leading dims; mask bool
// or floating, broadcast to (*, L, S), or null. Halves are computed in float32. Answers out
// (*, L, V), which lies in memory as q does where the shapes allow it, and the log of each row's
// sum of exp, for backward.
std::vector<NDArray> attention(const NDArray& q, const NDArray& k, const NDArray& v,
                               const NDArray* mask, bool causal, double scale);
// The gradients of q, k and v.
std::vector<NDArray> attention_backward(const NDArray& grad, const NDArray& q, const NDArray& k,
                                        const NDArray& v, const NDArray* mask, const NDArray& out,
                                        const NDArray& log_sums, bool causal, double scale);

}  // namespace tt
