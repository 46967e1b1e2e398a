// What the kernels of reductions take. Their table stands apart, because ops.def names its places:
// what looks at arguments alone is not compiled anew for each new op.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"
#include "core/lines.h"

namespace tt {

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

}  // namespace tt
