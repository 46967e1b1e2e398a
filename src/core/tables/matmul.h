// Products of matrices.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// C[b] = A[b] @ B[b] (+ bias); strides in elements, never negative.
struct MatmulArgs {
  int64_t m, n, k;
  const void* a;  // (m, k)
  const void* b;  // (k, n)
  void* c;        // (m, n)
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  int batch_ndim;
  const int64_t* batch_shape;
  const int64_t* a_batch;  // strides, one per batch dim
  const int64_t* b_batch;
  const int64_t* c_batch;
  bool accumulate;   // add to what C holds
  const void* bias;  // (n), added last, or null
  int64_t bias_stride;
  bool tf32 = false;  // whether float32 may be rounded to TF32 before it is multiplied
};
using MatmulKernel = void (*)(const MatmulArgs&);

// Halves without a kernel are computed in float32.
struct MatmulTable {
  MatmulKernel product[kDTypes];
  MatmulKernel naive[kDTypes];  // their definition, for tests
};

}  // namespace tt
