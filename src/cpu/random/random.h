// The samplers, compiled once, for the baseline.
#pragma once
#include "core/tables/random.h"

namespace tt::cpu {

void uniform(Generator&, const Strided& out, double from, double to);
void normal(Generator&, const Strided& out, double mean, double std);
void log_normal(Generator&, const Strided& out, double mean, double std);
void exponential(Generator&, const Strided& out, double lambda);
void cauchy(Generator&, const Strided& out, double median, double sigma);
void geometric(Generator&, const Strided& out, double p);
void random(Generator&, const Strided& out);
void random_range(Generator&, const Strided& out, int64_t from, std::optional<int64_t> to);
void bernoulli(Generator&, const Strided& out, double p, double value);
void bernoulli_each(Generator&, const Strided& out, const Strided& p);
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
