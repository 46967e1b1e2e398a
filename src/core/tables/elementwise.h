// Elementwise ops by name, and the table of their kernels: one per op and dtype that it is computed
// in.
#pragma once
#include "core/devices/backend.h"
#include "core/iter.h"

namespace tt {

#define TT_NAME(name, ...) name,
enum class Unary : int {  // tests too: they take one operand
#define UNARY TT_NAME
#define TEST TT_NAME
#include "core/ops.def"
  kCount
};
enum class Binary : int {  // comparisons too: they take two operands
#define BINARY TT_NAME
#define COMPARE TT_NAME
#include "core/ops.def"
  kCount
};
enum class Ternary : int {
#define TERNARY TT_NAME
#include "core/ops.def"
  kCount
};
enum class Quaternary : int {
#define QUATERNARY TT_NAME
#include "core/ops.def"
  kCount
};
#undef TT_NAME

struct ChainArgs;  // core/program/chain_args.h

template <class Op>
constexpr int count_of() {
  return static_cast<int>(Op::kCount);
}

struct ElementwiseTable {
  Kernel unary[count_of<Unary>()][kDTypes];
  Kernel binary[count_of<Binary>()][kDTypes];
  Kernel ternary[count_of<Ternary>()][kDTypes];
  Kernel quaternary[count_of<Quaternary>()][kDTypes];
  Kernel where[kDTypes];       // inputs: condition (not 0), x, y
  Kernel nan_to_num[kDTypes];  // inputs: x, and what replaces NaN, inf and -inf
  // Ops one after the other as one kernel; null where launches that follow each other stay so.
  void (*chain)(const ChainArgs& args);
};

}  // namespace tt
