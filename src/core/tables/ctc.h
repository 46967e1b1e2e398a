// Connectionist temporal classification. Floating point arrays are float32, or all float64.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// A batch of log-probabilities; target b has the given length, from starts[b] on.
struct CtcArgs {
  DType dtype;
  int64_t times, batch, classes;
  const char* x;  // (times, batch, classes)
  int64_t time_step, batch_step, class_step;
  const int64_t *targets, *starts, *input_lengths, *target_lengths;
  int64_t blank, width;  // 2 * the longest target + 1
  char *alpha, *loss;    // (batch, times, width), (batch): written in forward
  const char* grad;      // (batch); these are for backward only
  char* out;             // x's gradient, contiguous, which is 0 before
  bool zero_infinity;
};

struct CtcTable {
  bool (*ctc_labels)(const CtcArgs&);  // whether all are in [0, classes)
  void (*ctc)(const CtcArgs&);
  void (*ctc_backward)(const CtcArgs&);
};

}  // namespace tt
