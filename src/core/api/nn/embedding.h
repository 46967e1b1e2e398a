// Rows of a table by number, and sums, means or largest elements of several of them.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// (rows, columns)[index]: int32 or int64 of any shape -> (*, columns).
NDArray embedding(const NDArray& table, const NDArray& index);

// The table's gradient; what belongs to row `padding` is left out (-1: nothing is). It may be added
// to a contiguous `total`, which is then the answer.
NDArray embedding_backward(const NDArray& grad, const NDArray& index, int64_t rows, int64_t padding,
                           bool by_frequency, const NDArray* total);

// Bag b is the entries of `index` (N) from starts[b] up to starts[b + 1], or to the end. Modes:
// sum, mean, max. Answers a row per bag and, for max, the rows that its elements are from.
std::vector<NDArray> embedding_bag(const NDArray& table, const NDArray* weights,
                                   const NDArray& index, const NDArray& starts, int64_t mode,
                                   int64_t padding);
NDArray embedding_bag_backward(const NDArray& grad, const NDArray* weights, const NDArray& index,
                               const NDArray& starts, const NDArray* largest, int64_t rows,
                               int64_t mode, int64_t padding, bool by_frequency);

}  // namespace tt
