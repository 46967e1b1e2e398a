// What the fused kernels take that work along one dim: softmax and cross-entropy.
#pragma once
#include "core/backend.h"

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
  LineStream stream[kMaxStreams];  // the output, where there is one, is the last
  bool has_output = true;
};

// softmax: streams x, y. Its gradient: grad, y, dx.
struct SoftmaxArgs {
  Lines lines;
  bool log;
};

// Per line: loss = -sum over classes c of mass_c (x_c - log sum exp x), where mass is
// weight[target] at the target, or weight_c target_c where targets are probabilities; smoothing
// first moves a share of the target evenly to all classes.
// Streams: x (, the probabilities) (, dx). What is not a stream is contiguous, of dtype `compute`.
struct CrossEntropyArgs {
  Lines lines;
  const int64_t* classes;  // per line; null where targets are probabilities
  const char* weight;      // per class; null: all 1, where targets are classes without smoothing
  int64_t ignore_index;    // lines of this class have loss 0
  double smoothing, weight_sum;
  char* stats;       // per line: the largest x, log of the sum of exp(x - largest), sum of mass
  char* loss;        // per line; forward only
  const char* grad;  // of the loss: per line, or one for all; backward only
  bool grad_per_line;
  double scale;  // of grad
};

struct NormTable {
  void (*softmax)(const SoftmaxArgs&);
  void (*softmax_backward)(const SoftmaxArgs&);
  void (*cross_entropy)(const CrossEntropyArgs&);
  void (*cross_entropy_backward)(const CrossEntropyArgs&);
};

}  // namespace tt
