// Which launches may write their result over an operand: of one layout, and read before.
//
// Not here: what would never lower a step's peak, as elementwise kernels.
#pragma once
#include <utility>

#include "core/program/pointers.h"

namespace tt {

// Where the pointers of operand and result are; null for none.
using InPlace = std::pair<char**, char**>;

template <class Args>
InPlace in_place(const Args&) {
  return {};
}
// Backward: the logits by their gradient, in a language model the largest arrays of all.
inline InPlace in_place(const CrossEntropyArgs& x) {
  auto& lines = const_cast<Lines&>(x.lines);
  LineStream &from = lines.stream[0], &to = lines.stream[lines.streams - 1];
  if (!x.grad || &from == &to || from.dtype != to.dtype || from.step != to.step) return {};
  for (int d = 0; d < lines.shape.size(); ++d)
    if (from.strides[d] != to.strides[d]) return {};
  return {&from.data, &to.data};
}

}  // namespace tt
