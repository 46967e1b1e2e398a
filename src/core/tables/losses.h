// Losses: sums of elementwise ones without a temporary, and margins between classes. Arrays are
// contiguous; floating point ones are float32, or all float64.
#pragma once
#include "core/devices/backend.h"
#include "core/dtypes/dtype.h"

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

struct LossesTable {
  void (*total)(const TotalArgs&);
  void (*multilabel_margin)(const MarginArgs&);  // backward, where there is a gradient
};

// Blocks that `total` works in: arrays of one gain nothing.
constexpr int64_t kTotalBlock = 16384;  // four of the reductions' chunks: a branch of their tree

}  // namespace tt
