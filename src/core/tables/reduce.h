// Reductions over dims by name, and the table of their kernels.
#pragma once
#include "core/reduce_args.h"

namespace tt {

enum class Reduce : int {
#define REDUCE(name, ...) name,
#include "core/ops.def"
  kCount
};

struct ReduceTable {
  ReduceKernel kernels[static_cast<int>(Reduce::kCount)][kDTypes];
  ArgKernel argmax[kDTypes], argmin[kDTypes];
  void (*logsumexp)(const LogSumExpArgs&);
  void (*variance)(const VarianceArgs&);
};

}  // namespace tt
