// Samplers that a file other than their own calls, compiled once, for the baseline.
#pragma once
#include "core/tables/random.h"

namespace tt::cpu {

void exponential(Generator&, const NDArray& out, double lambda);
void randperm(Generator&, const NDArray& out);
void multinomial(Generator&, const NDArray& p, int64_t samples, bool replacement, int64_t* out);
void poisson(Generator&, const NDArray& out, const NDArray& rate);
void binomial(Generator&, const NDArray& out, const NDArray& count, const NDArray& p);
void standard_gamma(Generator&, const NDArray& out, const NDArray& alpha);
void dirichlet(Generator&, const NDArray& out, const NDArray& alpha);
void standard_gamma_grad(const NDArray& out, const NDArray& alpha, const NDArray& draw);
void dirichlet_grad(const NDArray& out, const NDArray& x, const NDArray& alpha,
                    const NDArray& total);
void gammainc(const NDArray& out, const NDArray& alpha, const NDArray& x);
void gamma_density(const NDArray& out, const NDArray& alpha, const NDArray& x);

}  // namespace tt::cpu
