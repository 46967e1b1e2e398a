// Samplers: fill memory with draws from a Generator.
//
// Values and the generator's state afterwards are PyTorch's; Note [Random numbers] says how
// exactly. The stream is serial, so no sampler uses threads. Each checks its arguments before the
// first draw, holds the generator's lock while it draws, and leaves an empty target and the
// generator untouched. Not here: autograd, version stamps, overlap of the target with itself
// (callers refuse it).
#pragma once
#include <cstdint>
#include <optional>

#include "core/dtype.h"
#include "core/generator.h"

namespace tt {

// Strided memory. Strides count elements. Draws go to increasing addresses, not increasing indices:
// like TensorIterator, samplers put the dim of the smallest stride innermost.
struct Strided {
  void* data;
  DType dtype;
  int ndim;
  const int64_t* shape;
  const int64_t* strides;
};

struct RandomTable {
  // Floating-point targets only.
  void (*uniform)(Generator&, const Strided& out, double from, double to);
  void (*normal)(Generator&, const Strided& out, double mean, double std);
  void (*log_normal)(Generator&, const Strided& out, double mean, double std);
  void (*exponential)(Generator&, const Strided& out, double lambda);
  void (*cauchy)(Generator&, const Strided& out, double median, double sigma);
  // Trials until the first success: any dtype but bool.
  void (*geometric)(Generator&, const Strided& out, double p);

  // Any dtype. [0, max] for integers, [0, 2^24] and [0, 2^53] for floats.
  void (*random)(Generator&, const Strided& out);
  // [from, to), or up to the largest value of the dtype, itself included.
  void (*random_range)(Generator&, const Strided& out, int64_t from, std::optional<int64_t> to);
  // `value`, with probability p, else 0.
  void (*bernoulli)(Generator&, const Strided& out, double p, double value);
  // 1 with probability p, float32 or float64, expanded to the shape of `out`.
  void (*bernoulli_each)(Generator&, const Strided& out, const Strided& p);

  // A shuffle of 0 … n-1 into n elements, `stride` apart: any dtype but bool that holds n-1.
  void (*randperm)(Generator&, void* out, DType dtype, int64_t n, int64_t stride);
  // Category numbers, `samples` for each row of the weights `p`, (categories) or (rows,
  // categories), float32 or float64, into contiguous `out`, (samples) or (rows, samples).
  void (*multinomial)(Generator&, const Strided& p, int64_t samples, bool replacement,
                      int64_t* out);

  // Draws whose parameters are arrays, floating-point and of the dtype and shape of `out`.
  void (*poisson)(Generator&, const Strided& out, const Strided& rate);
  void (*binomial)(Generator&, const Strided& out, const Strided& count, const Strided& p);
  void (*standard_gamma)(Generator&, const Strided& out, const Strided& alpha);
  // Each row (last dim) sums to 1; `out` is contiguous.
  void (*dirichlet)(Generator&, const Strided& out, const Strided& alpha);
  // How a draw moves with its parameter: d draw / d alpha, and that of `x`, one part of a Dirichlet
  // draw whose alphas sum to `total`, over 1 - x.
  void (*standard_gamma_grad)(const Strided& out, const Strided& alpha, const Strided& draw);
  void (*dirichlet_grad)(const Strided& out, const Strided& x, const Strided& alpha,
                         const Strided& total);
  // The probability that a gamma draw is below x, and its derivative by x.
  void (*gammainc)(const Strided& out, const Strided& alpha, const Strided& x);
  void (*gamma_density)(const Strided& out, const Strided& alpha, const Strided& x);
};

}  // namespace tt
