// Batch, group and instance norm.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// y = (x - mean) / sqrt(variance + eps) weight + bias over sets of elements of x (N, C, S), with a
// weight and a bias per channel. A set shares a mean: a channel, or a number of channels of one
// sample. Where x, grad and out are halves, all else is float32.
struct BatchNormArgs {
  int64_t samples, channels, size;  // N, C, S
  int64_t set_channels;             // of a set of one sample; 0: a set is a channel of all samples
  bool channels_last;               // (N, S, C), contiguous; else strides are as follows
  const char *x, *grad;
  char* out;                                               // y, or dx
  int64_t x_sample, x_channel, grad_sample, grad_channel;  // in elements; S is contiguous
  const char *weight, *bias;                               // per channel, or null
  char *mean, *rstd;                                       // per set
  char* rest;                                              // the true mean - mean; null if fixed
  char* variance;                                          // per set, biased; forward only
  bool fixed;                                              // mean and rstd are given constants
  double eps;
  char *weight_grad, *bias_grad;  // per channel
};

// Batch norm's running mean and variance, per channel, of any dtype.
struct RunningArgs {
  struct Running {
    char* data;  // or null
    DType dtype;
    int64_t step;  // elements
  };
  Running running_mean, running_var;
  int64_t channels, samples;  // (samples, channels) are the sets: one sample, or each has its own
  DType compute;
  char *mean, *rstd;     // per set, of dtype `compute`
  const char* variance;  // per set, biased, float64
  double elements;       // of a set
  double momentum, eps;
};

struct BatchNormTable {
  void (*batch_norm[4])(const BatchNormArgs&);  // by float_kind; of halves both or none
  void (*batch_norm_backward[4])(const BatchNormArgs&);
  void (*running_update)(const RunningArgs&);  // towards what the sets have
  void (*running_read)(const RunningArgs&);    // into mean and rstd
};

}  // namespace tt
