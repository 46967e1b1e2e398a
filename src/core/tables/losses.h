// Losses: sums of elementwise ones without a temporary, and those that walk over classes. Arrays
// are contiguous unless they have strides; floating point ones are float32, or all float64.
#pragma once
#include "core/backend.h"
#include "core/dims.h"
#include "core/dtype.h"

namespace tt {

// out = the sum or mean of what an elementwise kernel makes of its inputs: large arrays, arrays of
// one element, and numbers.
struct TotalArgs {
  static constexpr int kMaxInputs = 3;
  struct Input {
    char* data = nullptr;  // null: the number
    bool single = false;   // of one element
    Scalar number = Scalar::of_int(0);
  };
  Kernel kernel;
  DType dtype;
  int64_t numel;
  Input inputs[kMaxInputs];
  int count;
  bool mean;
  char* out;
};

// Labels, of which each must be in [0, classes), or `except`.
struct LabelArgs {
  const int64_t* labels;
  int64_t count, classes, except;
};

// What a mean of losses, one per line, is divided by: how many lines count, or, where they have
// classes, the weights of those whose class is not `ignore_index`.
struct DivisorArgs {
  int64_t lines;
  const int64_t* classes;  // per line, or null: all count
  const char* weight;      // per class, of dtype `compute`; null: all 1
  int64_t ignore_index;
};

// out = the sum of the losses, or their mean. The divisor, too, is kept.
struct AverageArgs {
  DType compute;  // of the losses and the divisor
  DivisorArgs by;
  const char* losses;  // per line
  bool mean;
  char* divisor;
  DType dtype;
  char* out;  // of `dtype`; null: only the divisor is wanted
};

// Per line: loss = -x[class] weight[class], or 0 where the class is `ignore_index`. All but x and
// its gradient is of dtype `compute`.
struct NllArgs {
  DType dtype, compute;  // x's
  Dims shape, strides;   // of the lines: of x, or of its gradient, without the dim of classes
  int64_t lines, step;   // from class to class
  const int64_t* classes;
  const char* weight;  // per class, or null
  int64_t ignore_index;
  char* x;     // backward: its gradient, which is 0 before
  char* loss;  // forward only
  // Backward only: of the losses, per line or one for all, and what it is divided by, or null.
  const char* grad;
  bool grad_per_line;
  const char* divisor;
};

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
  void (*total)(const TotalArgs&);
  bool (*labels)(const LabelArgs&);  // whether all are such
  void (*average)(const AverageArgs&);
  void (*nll)(const NllArgs&);
  void (*nll_backward)(const NllArgs&);
  void (*multilabel_margin)(const MarginArgs&);  // backward, where there is a gradient
  bool (*ctc_labels)(const CtcArgs&);            // whether all are in [0, classes)
  void (*ctc)(const CtcArgs&);
  void (*ctc_backward)(const CtcArgs&);
};

// Blocks that `total` works in: arrays of one gain nothing.
constexpr int64_t kTotalBlock = 16384;  // four of the reductions' chunks: a branch of their tree

}  // namespace tt
