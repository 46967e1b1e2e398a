// Losses: sums of elementwise ones without a temporary, and margins between classes.
#pragma once
#include "core/tables/elementwise.h"

namespace tt {

// The sum or mean of a record of ops.def over its operands: bit for bit that of the array which the
// record would make, whose elements are never all in memory.
NDArray total_of(Binary op, const NDArray& x, const NDArray& y, bool mean);
NDArray total_of(Ternary op, const NDArray& x, const NDArray& y, const Operand& z, bool mean);
template <Binary op>
NDArray total(const NDArray& x, const NDArray& y, bool mean) {
  return total_of(op, x, y, mean);
}
template <Ternary op>
NDArray total3(const NDArray& x, const NDArray& y, const Operand& z, bool mean) {
  return total_of(op, x, y, z, mean);
}

// Per row of x (rows, classes): the sum of max(0, 1 - (x[j] - x[i])) / classes over the targets j,
// which are those before the first -1, and the classes i that are no targets. IndexError for a
// target out of range.
NDArray multilabel_margin(const NDArray& x, const NDArray& targets);
NDArray multilabel_margin_backward(const NDArray& grad, const NDArray& x, const NDArray& targets);

}  // namespace tt
