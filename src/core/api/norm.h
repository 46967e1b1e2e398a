// Softmax, cross-entropy and normalisations of arrays of any layout. Results are contiguous unless
// it is said otherwise.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

NDArray softmax(const NDArray& x, int64_t dim, bool log, const NDArray* out = nullptr);
// Where a gradient like x goes, of which the kernels read each element before they write it there.
NDArray over(const NDArray& x, bool overwrite);

// The gradients here are written over y, or x, where they may `overwrite` it and are laid out like
// it.
NDArray softmax_backward(const NDArray& grad, const NDArray& y, int64_t dim, bool log,
                         bool overwrite);

enum class Reduction : int64_t { None, Mean, Sum };

// (loss, what backward needs). `target`: classes (int64) of x's shape without `dim`, or
// probabilities of x's shape. IndexError for a class out of range.
std::vector<NDArray> cross_entropy(const NDArray& x, const NDArray& target, const NDArray* weight,
                                   int64_t dim, int64_t reduction, int64_t ignore_index,
                                   double smoothing);
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

// Over the last `count` dims; `centered` as LayerNormArgs has it. (y, what backward needs)
std::vector<NDArray> layer_norm(const NDArray& x, int64_t count, const NDArray* weight,
                                const NDArray* bias, double eps, bool centered);
// The gradients of x and, if `of_weights`, of weight and bias: (size) of the normalised dims.
std::vector<NDArray> layer_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats, int64_t count,
                                         bool centered, bool of_weights, bool overwrite);

// x (N, C, *) in x's memory format: (y, mean, 1 / sqrt(variance + eps)). The statistics are of each
// channel where `groups` is 0, else of so many groups of channels for each sample. The running ones
// are brought up to date; they are used where it is not `training`.
std::vector<NDArray> batch_norm(const NDArray& x, const NDArray* weight, const NDArray* bias,
                                const NDArray* running_mean, const NDArray* running_var,
                                int64_t groups, bool training, double momentum, double eps);
// The gradients of x, weight and bias; of x only if `of_input`. `fixed`: mean and rstd were given.
std::vector<NDArray> batch_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& mean,
                                         const NDArray& rstd, int64_t groups, bool fixed,
                                         bool of_input, bool overwrite);

}  // namespace tt
