// Samplers that a file other than their own calls, compiled once, for the baseline.
#pragma once
#include "core/tables/random.h"

namespace tt::cpu {

void exponential(Generator&, const Strided& out, double lambda);
void randperm(Generator&, void* out, DType dtype, int64_t n, int64_t stride);
void multinomial(Generator&, const Strided& p, int64_t samples, bool replacement, int64_t* out);
void poisson(Generator&, const Strided& out, const Strided& rate);
void binomial(Generator&, const Strided& out, const Strided& count, const Strided& p);
void standard_gamma(Generator&, const Strided& out, const Strided& alpha);
void dirichlet(Generator&, const Strided& out, const Strided& alpha);
void standard_gamma_grad(const Strided& out, const Strided& alpha, const Strided& draw);
void dirichlet_grad(const Strided& out, const Strided& x, const Strided& alpha,
                    const Strided& total);
void gammainc(const Strided& out, const Strided& alpha, const Strided& x);
void gamma_density(const Strided& out, const Strided& alpha, const Strided& x);

}  // namespace tt::cpu
