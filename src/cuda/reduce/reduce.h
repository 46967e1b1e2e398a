// The reductions of ops.def, for kernels that end with one.
#pragma once
#include "core/tables/reduce.h"

namespace tt::cuda {

const ReduceTable& reductions();

}  // namespace tt::cuda
