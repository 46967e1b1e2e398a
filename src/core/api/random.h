// Draws from a generator: of the array's device, which null names, or the one that is given.
//
// Every argument is checked before the first draw; an empty target leaves the generator as it was.
// Samplers that a device has not are run by the CPU, and their draws copied. Not here: autograd,
// version stamps, overlap of the target with itself (callers refuse it).
#pragma once
#include <cstdint>
#include <optional>

#include "core/devices/generator.h"
#include "core/ndarray.h"

namespace tt {

void uniform(const NDArray& out, Generator* generator, double from, double to);
void normal(const NDArray& out, Generator* generator, double mean, double std);
void log_normal(const NDArray& out, Generator* generator, double mean, double std);
void exponential(const NDArray& out, Generator* generator, double lambda);
void cauchy(const NDArray& out, Generator* generator, double median, double sigma);
void geometric(const NDArray& out, Generator* generator, double p);
void random(const NDArray& out, Generator* generator);
// [from, to), or up to the largest value of the dtype, itself included.
void random_range(const NDArray& out, Generator* generator, int64_t from,
                  std::optional<int64_t> to);
void bernoulli(const NDArray& out, Generator* generator, double p, double value);
// p has the shape of out.
void bernoulli_each(const NDArray& out, Generator* generator, const NDArray& p);

// `out`: core/result.h.
NDArray randperm(int64_t n, Generator* generator, DType dtype, const NDArray* out,
                 const Device& device);
NDArray multinomial(const NDArray& p, Generator* generator, int64_t samples, bool replacement);

// Draws by parameters, which have one shape and dtype.
NDArray poisson(Generator* generator, const NDArray& rate);
NDArray binomial(Generator* generator, const NDArray& count, const NDArray& p);
NDArray standard_gamma(Generator* generator, const NDArray& alpha);
NDArray dirichlet(Generator* generator, const NDArray& alpha);

}  // namespace tt
