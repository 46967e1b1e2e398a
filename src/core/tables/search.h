// What is found among elements in order.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// How many boundaries in line `row` of (rows, size) come before each value in line `row` of
// (rows, each). All are contiguous.
struct SearchArgs {
  DType dtype;  // of boundaries and values: any but bool
  int64_t rows, size, each;
  const char *boundaries, *values;
  const char* order;  // (int64) in which a line's boundaries ascend, or null
  bool right;         // those that equal the value come before it, too
  bool int32;         // else int64
  char* out;
};

// Whether each element of x (not) equals one of the others. All are contiguous.
struct IsinArgs {
  DType dtype;
  const char *x, *others;
  int64_t n, count;  // elements of both
  bool invert;
  bool* out;
};

struct SearchTable {
  void (*searchsorted)(const SearchArgs&);
  void (*isin)(const IsinArgs&);
};

}  // namespace tt
