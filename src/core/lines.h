// Arrays of one shape seen as lines along one dim.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"

namespace tt {

// An array seen as lines along one dim, one line per position of the others. Strides in bytes.
struct LineStream {
  char* data = nullptr;
  DType dtype = DType::Float32;
  int64_t step = 0;  // from one element of a line to the next
  Dims strides;      // from one line to the next, per dim of Lines::shape
};

struct Lines {
  static constexpr int kMaxStreams = 3;
  Dims shape;                   // positions of the lines
  int64_t count = 1, size = 0;  // lines, and elements in each
  DType compute;                // float32 or float64
  int streams = 0;
  LineStream stream[kMaxStreams];
  int outputs = 1;  // of them, the last ones
};

}  // namespace tt
