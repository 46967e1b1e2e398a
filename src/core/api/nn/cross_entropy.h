// Losses of classes: cross-entropy, and the negative log-likelihood of log-probabilities.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

enum class Reduction : int64_t { None, Mean, Sum };

// (loss, what backward needs). `target`: classes (int64) of x's shape without `dim`, or
// probabilities of x's shape. IndexError for a class out of range. The loss is of x's dtype or, if
// `as_computed`, of the one that it is computed in.
std::vector<NDArray> cross_entropy(const NDArray& x, const NDArray& target, const NDArray* weight,
                                   int64_t dim, int64_t reduction, int64_t ignore_index,
                                   double smoothing, bool as_computed);
// The gradient is written over x where it may `overwrite` it and is laid out like it.
NDArray cross_entropy_backward(const NDArray& grad, const NDArray& x, const NDArray& target,
                               const NDArray* weight, const NDArray& stats, int64_t dim,
                               int64_t reduction, int64_t ignore_index, double smoothing,
                               bool overwrite);

// -weight[t] x[t]: (loss, the sum of the weights that counted).
std::vector<NDArray> nll_loss(const NDArray& x, const NDArray& target, const NDArray* weight,
                              int64_t dim, int64_t reduction, int64_t ignore_index);
// The gradient for x of `shape`; of the divided loss where total is given.
NDArray nll_loss_backward(const NDArray& grad, const NDArray& target, const NDArray* weight,
                          const NDArray& total, const Dims& shape, int64_t dim, int64_t reduction,
                          int64_t ignore_index);

}  // namespace tt
