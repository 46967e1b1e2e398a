// Reductions over dims by name, and the table of their kernels.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"
#include "core/lines.h"

namespace tt {

enum class Reduce : int {
#define REDUCE(name, ...) name,
#include "core/ops.def"
  kCount
};

// One reduction: out[o] = reduce over r of x[o, r], both walked by dims of their own.
struct ReduceArgs {
  const char* x;
  DType dtype;    // of x
  DType compute;  // what x is converted to
  char* out;      // contiguous, in row-major order of the kept dims, of the result's dtype
  Dims kept, kept_strides;  // strides in bytes
  Dims reduced, reduced_strides;
};
using ReduceKernel = void (*)(const ReduceArgs&);

// Extremes of lines, and the positions of the first of them. Stream x; lines.compute may be any
// dtype.
struct ArgArgs {
  Lines lines;
  char* values;        // contiguous, of x's dtype; or null
  int64_t* positions;  // contiguous
};
using ArgKernel = void (*)(const ArgArgs&);

// out, of dtype `compute`, per line: log(sum(exp(x))). Stream x.
struct LogSumExpArgs {
  Lines lines;
  char* out;
};

// out, of dtype `compute`, per line: the squared distances from the mean, or from 0 unless
// `centered`, over `freedom`; or the root of that. Stream x.
struct VarianceArgs {
  Lines lines;
  char* out;
  double freedom;
  bool root, centered;
};

struct ReduceTable {
  ReduceKernel kernels[static_cast<int>(Reduce::kCount)][kDTypes];
  ArgKernel argmax[kDTypes], argmin[kDTypes];
  void (*logsumexp)(const LogSumExpArgs&);
  void (*variance)(const VarianceArgs&);
};

}  // namespace tt
