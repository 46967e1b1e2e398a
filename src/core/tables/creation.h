// Evenly spaced numbers, and powers of such.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

struct CreationTable {
  // out[i] = start + step * i, computed in double, or in int64, which wraps around.
  void (*of_floats)(void* out, DType dtype, int64_t count, double start, double step);
  void (*of_ints)(void* out, DType dtype, int64_t count, int64_t start, int64_t step);
  // From first to last, both exact: each half is counted from its own end.
  void (*linspace)(void* out, DType dtype, int64_t count, double first, double last);
  // base to the powers of evenly spaced exponents, whose ends are rounded to the dtype.
  void (*logspace)(double* out, DType dtype, int64_t count, double first, double last, double base);
};

}  // namespace tt
