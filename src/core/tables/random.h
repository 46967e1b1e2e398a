// Samplers: fill memory with draws from a Generator.
//
// Values and the generator's state afterwards are PyTorch's; Note [Random numbers] says how
// exactly. Draws go to increasing addresses, not increasing indices: like TensorIterator, samplers
// put the dim of the smallest stride innermost, as Iter does. The CPU's stream is serial, so none
// of its samplers uses threads; each holds the generator's lock while it draws. core/api/random.h
// checks the arguments, and gives a device that has no sampler of its own (null) the CPU's draws.
#pragma once
#include <cstdint>

#include "core/devices/generator.h"
#include "core/ndarray.h"

namespace tt {

struct RandomTable {
  // Floating-point targets only.
  void (*uniform)(Generator&, const NDArray& out, double from, double to);
  void (*normal)(Generator&, const NDArray& out, double mean, double std);
  void (*log_normal)(Generator&, const NDArray& out, double mean, double std);
  void (*exponential)(Generator&, const NDArray& out, double lambda);
  void (*cauchy)(Generator&, const NDArray& out, double median, double sigma);
  // Trials until the first success: any dtype but bool.
  void (*geometric)(Generator&, const NDArray& out, double p);

  // Any dtype. [0, max] for integers, [0, 2^24] and [0, 2^53] for floats.
  void (*random)(Generator&, const NDArray& out);
  // [from, from + range), which the dtype holds; all of int64 for a range of 0.
  void (*random_range)(Generator&, const NDArray& out, int64_t from, uint64_t range);
  // `value`, with probability p, else 0.
  void (*bernoulli)(Generator&, const NDArray& out, double p, double value);
  // 1 with probability p, float32 or float64, expanded to the shape of `out`.
  void (*bernoulli_each)(Generator&, const NDArray& out, const NDArray& p);

  // A shuffle of 0 … n-1 into n contiguous elements: any dtype but bool that holds n-1.
  void (*randperm)(Generator&, const NDArray& out);
  // Category numbers, `samples` for each row of the weights `p`, (categories) or (rows,
  // categories), float32 or float64, into contiguous `out`, (samples) or (rows, samples).
  void (*multinomial)(Generator&, const NDArray& p, int64_t samples, bool replacement,
                      int64_t* out);

  // Draws whose parameters are arrays, floating-point and of the dtype and shape of `out`.
  void (*poisson)(Generator&, const NDArray& out, const NDArray& rate);
  void (*binomial)(Generator&, const NDArray& out, const NDArray& count, const NDArray& p);
  void (*standard_gamma)(Generator&, const NDArray& out, const NDArray& alpha);
  // Each row (last dim) sums to 1; `out` is contiguous.
  void (*dirichlet)(Generator&, const NDArray& out, const NDArray& alpha);
  // How a draw moves with its parameter: d draw / d alpha, and that of `x`, one part of a Dirichlet
  // draw whose alphas sum to `total`, over 1 - x.
  void (*standard_gamma_grad)(const NDArray& out, const NDArray& alpha, const NDArray& draw);
  void (*dirichlet_grad)(const NDArray& out, const NDArray& x, const NDArray& alpha,
                         const NDArray& total);
  // The probability that a gamma draw is below x, and its derivative by x.
  void (*gammainc)(const NDArray& out, const NDArray& alpha, const NDArray& x);
  void (*gamma_density)(const NDArray& out, const NDArray& alpha, const NDArray& x);
};

}  // namespace tt
