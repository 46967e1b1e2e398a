// Samplers by rejection: Poisson, binomial, gamma and Dirichlet; and how gamma and Dirichlet draws
// follow their parameters (core/formulas/gamma.h).
//
// The rejections are PyTorch's, uniform by uniform, so that a seed gives its numbers. They compute
// in float64 for every dtype, and are built without multiply-adds, as they are there.
#include "core/formulas/gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/random/draws.h"

namespace tt::cpu {
namespace {

// ---- Counts -------------------------------------------------------------------------------------

// From 10 on by transformed rejection (Hoermann 1993), below by multiplying uniforms.
// What Hoermann's rejection proposes: u in (-1/2, 1/2] bent by a hat with the parameters a, b, c.
struct Proposal {
  double v, us, k;

  Proposal(Generator& generator, double a, double b, double c) {
    const double u = unit<double>(generator) - 0.5;
    v = unit<double>(generator);
    us = 0.5 - std::fabs(u);
    k = std::floor((2 * a / us + b) * u + c);
  }
};

double poisson_draw(Generator& generator, double rate) {
  if (rate == 0 || std::isinf(rate)) return rate;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = unit<double>(generator), count = 0;
    for (; product > limit; ++count) product *= unit<double>(generator);
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double box = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const auto [v, us, k] = Proposal(generator, a, b, rate + 0.43);
    if (us >= 0.07 && v <= box) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - std::lgamma(k + 1))
      return k;
  }
}

// log(k!) minus Stirling's formula.
double stirling_tail(double k) {
  static constexpr double tails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                     0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                     0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                     0.00833056343336287};
  if (k <= 9) return tails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// A binomial draw for p <= 1/2: Hoermann's BTRS if n p >= 10, else the gaps between successes.
double binomial_draw(Generator& generator, double n, double p) {
  if (n * p < 10) {
    const double log_failure = std::log1p(-p);
    double trials = 0, successes = 0;
    for (;; ++successes) {
      trials += std::ceil(std::log(unit<double>(generator)) / log_failure);
      if (trials > n) return successes;
    }
  }
  const double std = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * std;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * std;
  const double m = std::floor((n + 1) * p);
  for (;;) {
    const auto [v, us, k] = Proposal(generator, a, b, c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= box) return k;
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

// ---- Gamma --------------------------------------------------------------------------------------

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000). The
// float constants are PyTorch's, and so is what is computed in the type of alpha.
template <class T>
double gamma_draw(Generator& generator, T alpha) {
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - unit<double>(generator), static_cast<double>(1.0f / alpha));
    alpha += 1.0f;
  }
  const double d = alpha - 1.0f / 3.0f;
  if (!(d >= 0)) return NAN;  // PyTorch rejects for ever
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = next_normal(generator, 0, 1);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - unit<double>(generator);
    const double square = x * x;
    if (u < 1 - 0.0331f * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

// NaN stays.
template <class T>
T at_least(T x, T low) {
  return x < low ? low : x;
}
template <class T>
T at_most(T x, T high) {
  return x > high ? high : x;
}

// out = f(x, ...) of float32 or float64.
template <class F, class... Arrays>
void compute(const char* op, const F& f, const NDArray& out, const Arrays&... inputs) {
  with_floating_type(op, out.dtype(), [&](auto zero) { map<decltype(zero)>(out, f, inputs...); });
}

}  // namespace

void poisson(Generator& generator, const NDArray& out, const NDArray& rate) {
  with_float_or_half("poisson", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto check = [](double r) {
      if (!(r >= 0)) throw RuntimeError("invalid Poisson rate, expected rate to be non-negative");
      return 0.0;
    };
    map<T>(out, check, rate);
    Guard guard(generator.mutex());
    map<T>(out, [&](double r) { return poisson_draw(generator, r); }, rate);
  });
}

void binomial(Generator& generator, const NDArray& out, const NDArray& count, const NDArray& p) {
  Guard guard(generator.mutex());
  const auto draw = [&](double n, double q) -> double {
    if (n <= 0 || q <= 0) return 0;
    if (std::isnan(q)) return NAN;
    if (q >= 1 || !std::isfinite(n)) return n;  // PyTorch rejects for ever
    return q <= 0.5 ? binomial_draw(generator, n, q) : n - binomial_draw(generator, n, 1 - q);
  };
  compute("binomial", draw, out, count, p);
}

void standard_gamma(Generator& generator, const NDArray& out, const NDArray& alpha) {
  with_floating_type("_standard_gamma", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Guard guard(generator.mutex());
    const auto draw = [&](double a) {
      return at_least(static_cast<T>(gamma_draw(generator, static_cast<T>(a))),
                      std::numeric_limits<T>::min());
    };
    map<T>(out, draw, alpha);
  });
}

void standard_gamma_grad(const NDArray& out, const NDArray& alpha, const NDArray& draw) {
  compute("_standard_gamma_grad", gamma_slope, out, alpha, draw);
}

void gammainc(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute("gammainc", gamma_cdf, out, alpha, x);
}

void gamma_density(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute("gammainc", gamma_density_at, out, alpha, x);
}

// Rows of contiguous `out` are gamma draws over their sum.
void dirichlet(Generator& generator, const NDArray& out, const NDArray& alpha) {
  with_floating_type("_sample_dirichlet", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t width = out.ndim() == 0 ? 1 : out.shape().back(), count = out.numel();
    if (count == 0) return;
    std::vector<double> gammas;
    gammas.reserve(static_cast<size_t>(count));
    {
      Guard guard(generator.mutex());
      const auto draw = [&](double a) {
        gammas.push_back(at_least(gamma_draw(generator, a), std::numeric_limits<double>::min()));
        return 0.0;
      };
      map<T>(out, draw, alpha);
    }
    const T below_one = std::nextafter(T(1), T(0));
    T* to = reinterpret_cast<T*>(out.data());
    for (int64_t row = 0; row < count; row += width) {
      double sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += gammas[row + j];
      for (int64_t j = 0; j < width; ++j)
        put(to + row + j,
            at_most(at_least(static_cast<T>(gammas[row + j] / sum), std::numeric_limits<T>::min()),
                    below_one));
    }
  });
}

void dirichlet_grad(const NDArray& out, const NDArray& x, const NDArray& alpha,
                    const NDArray& total) {
  compute("_dirichlet_grad", dirichlet_slope, out, x, alpha, total);
}

}  // namespace tt::cpu
