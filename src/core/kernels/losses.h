// Losses: sums of elementwise ones without a temporary, and those that walk over classes. Arrays
// are contiguous unless they have strides; floating point ones are float32, or all float64.
#pragma once
#include "core/backend.h"
#include "core/iter.h"

namespace tt {

// Per row the sum of max(0, 1 - (x[j] - x[i])) / classes over the targets j, which are those before
// the first -1, and the classes i that are no targets.
struct MarginArgs {
  DType dtype;
  int64_t rows, classes;
  const char* x;           // (rows, classes)
  const int64_t* targets;  // (rows, classes)
  const char* grad;        // (rows), or null in forward
  char* out;               // the loss (rows), or x's gradient, which is 0 before
};

// Of a batch of log-probabilities, in which target b is of the length given, from starts[b] on.
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

struct LossTable {
  // out = the sum or mean of what an elementwise kernel makes of large contiguous arrays of one
  // shape, and of numbers.
  void (*total)(Kernel kernel, const Operand* inputs, int count, bool mean, char* out);
  void (*multilabel_margin)(const MarginArgs&);  // backward, where there is a gradient
  void (*ctc)(const CtcArgs&);
  void (*ctc_backward)(const CtcArgs&);
};

// Blocks that `total` works in: arrays of one gain nothing.
constexpr int64_t kTotalBlock = 16384;  // four of the reductions' chunks: a branch of their tree

}  // namespace tt
