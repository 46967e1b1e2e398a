// Layer norm and RMS norm, along lines.
#pragma once
#include "core/lines.h"

namespace tt {

// y = (x - mean) / sqrt(variance + eps) weight + bias along a line; without `centered` the mean is
// taken to be 0. Streams x, y; grad, x, dx. What is not a stream is contiguous, of dtype `compute`.
struct LayerNormArgs {
  Lines lines;
  bool centered;
  const char *weight, *bias;  // per element of a line, or null
  double eps;
  char* stats;  // per line: mean, what that lacks of the true one, 1 / sqrt(variance + eps)
  // Backward, or null: the gradients of weight and bias, per element of a line, and those of each
  // group of lines, (groups, 2, size), whose memory is given.
  char *weight_grad, *bias_grad, *sums;
  int64_t group;  // lines
};

struct LayerNormTable {
  void (*layer_norm)(const LayerNormArgs&);
  void (*layer_norm_backward)(const LayerNormArgs&);
};

}  // namespace tt
