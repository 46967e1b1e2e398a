// What the fused kernels take of softmax, cross-entropy and the normalisations.
#pragma once
#include "core/lines.h"

namespace tt {

// softmax: streams x, y. Its gradient: grad, y, dx.
struct SoftmaxArgs {
  Lines lines;
  bool log;
};

// out, of dtype `compute`, per line: log(sum(exp(x))). Stream x.
struct LogSumExpArgs {
  Lines lines;
  char* out;
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
  double smoothing;
  char* stats;       // per line: the largest x, log of the sum of exp(x - largest), sum of mass
  char* loss;        // per line; forward only
  const char* grad;  // of the loss: per line, or one for all; backward only
  bool grad_per_line;
  const char* divisor;  // of grad, or null; backward only
};

// y = (x - mean) / sqrt(variance + eps) weight + bias along a line; without `centered` the mean is
// taken to be 0. Streams x, y; grad, x, dx. What is not a stream is contiguous, of dtype `compute`.
struct LayerNormArgs {
  Lines lines;
  bool centered;
  const char *weight, *bias;  // per element of a line, or null
  double eps;
  char* stats;  // per line: mean, 1 / sqrt(variance + eps)
  // Backward, or null: the gradients of weight and bias, per element of a line, and those of each
  // group of lines, (groups, 2, size), whose memory is given.
  char *weight_grad, *bias_grad, *sums;
  int64_t group;  // lines
};

// The same over sets of elements of x (N, C, S), with a weight and a bias per channel. A set is a
// channel, or a number of channels of one sample.
struct BatchNormArgs {
  int64_t samples, channels, size;  // N, C, S
  int64_t set_channels;             // of a set of one sample; 0: a set is a channel of all samples
  bool channels_last;               // (N, S, C), contiguous; else strides are as follows
  DType compute;
  const char *x, *grad;
  char* out;                                               // y, or dx
  int64_t x_sample, x_channel, grad_sample, grad_channel;  // in elements; S is contiguous
  const char *weight, *bias;                               // per channel, or null
  char *mean, *rstd;                                       // per set
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

struct NormTable {
  void (*softmax)(const SoftmaxArgs&);
  void (*softmax_backward)(const SoftmaxArgs&);
  void (*logsumexp)(const LogSumExpArgs&);
  void (*cross_entropy)(const CrossEntropyArgs&);
  void (*cross_entropy_backward)(const CrossEntropyArgs&);
  void (*layer_norm)(const LayerNormArgs&);
  void (*layer_norm_backward)(const LayerNormArgs&);
  void (*batch_norm)(const BatchNormArgs&);
  void (*batch_norm_backward)(const BatchNormArgs&);
  void (*running_update)(const RunningArgs&);  // towards what the sets have
  void (*running_read)(const RunningArgs&);    // into mean and rstd
};

}  // namespace tt
