// Softmax and cross-entropy along one dim of arrays of any layout. Results are contiguous.
#pragma once
#include <vector>

#include "core/backend.h"

namespace tt {

NDArray softmax(const NDArray& x, int64_t dim, bool log);
NDArray softmax_backward(const NDArray& grad, const NDArray& y, int64_t dim, bool log);

enum class Reduction : int64_t { None, Mean, Sum };

// (loss, what backward needs). `target`: classes (int64) of x's shape without `dim`, or
// probabilities of x's shape. IndexError for a class out of range.
std::vector<NDArray> cross_entropy(const NDArray& x, const NDArray& target, const NDArray* weight,
                                   int64_t dim, int64_t reduction, int64_t ignore_index,
                                   double smoothing);
NDArray cross_entropy_backward(const NDArray& grad, const NDArray& x, const NDArray& target,
                               const NDArray* weight, const NDArray& stats, int64_t dim,
                               int64_t reduction, int64_t ignore_index, double smoothing);

// -weight[t] x[t]: (loss, the sum of the weights that counted).
std::vector<NDArray> nll_loss(const NDArray& x, const NDArray& target, const NDArray* weight,
                              int64_t dim, int64_t reduction, int64_t ignore_index);
// The gradient for x of `shape`; of the divided loss where total is given.
NDArray nll_loss_backward(const NDArray& grad, const NDArray& target, const NDArray* weight,
                          const NDArray& total, const Dims& shape, int64_t dim, int64_t reduction,
                          int64_t ignore_index);

}  // namespace tt
