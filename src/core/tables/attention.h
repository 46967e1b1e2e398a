// Attention. Strides are in elements.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"

namespace tt {

// Matrices (rows, columns), one per position of the batch dims.
struct Matrices {
  char* data = nullptr;
  Dims batch;
  int64_t row = 0, column = 0;
};

// out = softmax(scale q k^T + mask) v, where a row without any key that may be seen is 0. All are
// of one dtype, but that mask and log_sums are float32 where the others are halves. `causal`: query
// i sees the keys up to i.
struct AttentionArgs {
  Dims batch;
  int64_t queries, keys, width, value_width;
  Matrices q, k, v, out;  // (queries, width), (keys, width), (keys, value_width)
  Matrices mask;          // (queries, keys) or, where data is null, none
  char* log_sums;         // (batch, queries), contiguous: the log of the sum of exp, per row
  double scale;
  bool causal;
  Matrices grad, q_grad, k_grad, v_grad;  // grad is of out; backward only
};

// float32, float64, float16, bfloat16: halves have both or none, and are then computed in float32.
struct AttentionTable {
  void (*forward[4])(const AttentionArgs&);
  void (*backward[4])(const AttentionArgs&);
};

}  // namespace tt
