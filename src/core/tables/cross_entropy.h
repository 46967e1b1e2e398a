// Losses of classes: cross-entropy, and the negative log-likelihood of log-probabilities. Arrays
// are contiguous unless they have strides.
#pragma once
#include "core/lines.h"

namespace tt {

// Per line: loss = -sum over classes c of mass_c (x_c - log sum exp x), where mass is
// weight[target] at the target, or weight_c target_c where targets are probabilities; smoothing
// first moves a share of the target evenly to all classes.
// Streams: x (, the probabilities) (, dx). What is not a stream is contiguous, of dtype `compute`.
struct CrossEntropyArgs {
  Lines lines;
  const int64_t* classes;  // per line; null where targets are probabilities
  const char* weight;      // per class; null: all 1, where targets are classes without smoothing
  int64_t ignore_index;    // lines of this class have loss 0
  double smoothing;
  char* stats;       // per line: the largest x, log of the sum of exp(x - largest), sum of mass
  char* loss;        // per line; forward only
  const char* grad;  // of the loss: per line, or one for all; backward only
  bool grad_per_line;
  const char* divisor;  // of grad, or null; backward only
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
  int64_t ignore_index, class_count;
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

struct CrossEntropyTable {
  void (*cross_entropy)(const CrossEntropyArgs&);
  void (*cross_entropy_backward)(const CrossEntropyArgs&);
  // From log-probabilities, per line: loss = -x[class] weight[class], or 0 where the class is
  // `ignore_index`. Stream x, or its gradient, which is 0 before. Without smoothing and `stats`.
  void (*nll)(const CrossEntropyArgs&);
  void (*nll_backward)(const CrossEntropyArgs&);
  bool (*labels)(const LabelArgs&);  // whether all are such
  void (*average)(const AverageArgs&);
};

}  // namespace tt
