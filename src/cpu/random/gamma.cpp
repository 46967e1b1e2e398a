// Samplers by rejection: Poisson, binomial, gamma and Dirichlet; and how gamma and Dirichlet draws
// follow their parameters.
//
// The rejections are PyTorch's, uniform by uniform, so that a seed gives its numbers. They compute
// in float64 for every dtype, and are built without multiply-adds, as they are there. The
// derivatives are exact series, where PyTorch approximates.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/random/draws.h"

namespace tt::cpu {
namespace {

// ---- Counts -------------------------------------------------------------------------------------

// From 10 on by transformed rejection (Hoermann 1993), below by multiplying uniforms.
double poisson_draw(Generator& generator, double rate) {
  if (rate == 0) return 0;
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
    const double u = unit<double>(generator) - 0.5;
    const double v = unit<double>(generator);
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
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
    const double u = unit<double>(generator) - 0.5;
    const double v = unit<double>(generator);
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
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

double digamma(double x) {
  double result = 0;
  for (; x < 10; ++x) result -= 1 / x;
  const double s = 1 / (x * x);
  return result + std::log(x) - 0.5 / x -
         s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
}

double density(double a, double x) { return std::exp((a - 1) * std::log(x) - x - std::lgamma(a)); }

// The probability that a draw is below x: a power series, or for large x 1 less a continued
// fraction (Lentz's way of computing it).
double gamma_cdf(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return NAN;
  if (x == 0) return 0;
  if (a == 0 || std::isinf(x)) return std::isinf(a) ? NAN : 1;
  if (std::isinf(a)) return 0;
  const double scale = density(a, x) * x;
  constexpr double kPrecise = 1e-16;
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > kPrecise * sum; ++n) sum += term *= x / n;
    return scale * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int i = 1; i < 1000000; ++i) {
    const double step = -i * (i - a);
    b += 2;
    d = 1 / (step * d + b);
    c = b + step / c;
    fraction *= d * c;
    if (std::fabs(d * c - 1) < kPrecise * 4) break;
  }
  return 1 - scale * fraction;
}

// A draw x of a distribution with cumulative F(x; a) moves with a such that F stays what it was:
// dx/da = -(dF/da) / (dF/dx). Both F here are power series whose terms t[n] have a ratio and a
// logarithmic derivative with recurrences, so the sum of t[n] * dlog(t[n])/da needs no more than
// the sum of t[n].
constexpr double kEnough = 1e-17;
constexpr int kMaxTerms = 1000000;

// dx/da of a gamma draw. F = x^a e^-x sum of x^n / gamma(a + n + 1).
double gamma_grad(double a, double x) {
  if (!(a > 0 && x > 0)) return std::isnan(a) || std::isnan(x) ? NAN : 0;
  if (a > 1e5) {
    // There the quantile of a normal z is a + z sqrt(a) + (z^2 - 1) / 3 + ... (Cornish and Fisher).
    const double root = std::sqrt(a);
    double z = (x - a) / root;
    for (int i = 0; i < 4; ++i)
      z = (x - a - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root)) / root;
    return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * a * root);
  }
  double term = x / a, log_slope = std::log(x) - digamma(a + 1), sum = term * log_slope;
  for (int n = 1; n < kMaxTerms; ++n) {
    term *= x / (a + n);
    log_slope -= 1 / (a + n);
    sum += term * log_slope;
    if (x < a + n && std::fabs(term * log_slope) <= kEnough * std::fabs(sum)) break;
  }
  return -sum;
}

// dx/da of a draw of beta(a, b), over 1 - x: then the gradient of all of a Dirichlet draw, whose
// other parts shrink in proportion, is this times (grad - sum of x * grad).
// F = x^a (1-x)^b / (a B(a, b)) sum of (a+b)_n / (a+1)_n x^n, or 1 minus the same of (b, a, 1 - x).
double part_grad(double x, double a, double total) {
  const double b = total - a, y = 1 - x;
  if (!(x > 0 && y > 0 && a > 0 && b > 0)) return std::isnan(x + a + b) ? NAN : 0;
  const bool lower = x <= 0.5;
  const double power = lower ? x : y, base = lower ? a : b;
  double term = x / base;
  double log_slope = std::log(x) + digamma(total) - digamma(lower ? a + 1 : a);
  double sum = term * log_slope;
  for (int n = 0; n < kMaxTerms; ++n) {
    const double ratio = (total + n) / (base + 1 + n) * power;
    term *= ratio;
    log_slope += 1 / (total + n) - (lower ? 1 / (a + 1 + n) : 0);
    sum += term * log_slope;
    if (ratio < 1 && std::fabs(term * log_slope) <= kEnough * (1 - ratio) * std::fabs(sum)) break;
  }
  return lower ? -sum : sum;
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
    if (q >= 1) return n;
    if (std::isnan(q)) return NAN;
    return q <= 0.5 ? binomial_draw(generator, n, q) : n - binomial_draw(generator, n, 1 - q);
  };
  compute("binomial", draw, out, count, p);
}

void standard_gamma(Generator& generator, const NDArray& out, const NDArray& alpha) {
  with_floating_type("_standard_gamma", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Guard guard(generator.mutex());
    const auto draw = [&](double a) {
      return std::max(std::numeric_limits<T>::min(),
                      static_cast<T>(gamma_draw(generator, static_cast<T>(a))));
    };
    map<T>(out, draw, alpha);
  });
}

void standard_gamma_grad(const NDArray& out, const NDArray& alpha, const NDArray& draw) {
  compute("_standard_gamma_grad", gamma_grad, out, alpha, draw);
}

void gammainc(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute("gammainc", gamma_cdf, out, alpha, x);
}

void gamma_density(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute("gammainc", density, out, alpha, x);
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
        gammas.push_back(std::max(std::numeric_limits<double>::min(), gamma_draw(generator, a)));
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
        put(to + row + j, std::min(below_one, std::max(std::numeric_limits<T>::min(),
                                                       static_cast<T>(gammas[row + j] / sum))));
    }
  });
}

void dirichlet_grad(const NDArray& out, const NDArray& x, const NDArray& alpha,
                    const NDArray& total) {
  compute("_dirichlet_grad", part_grad, out, x, alpha, total);
}

}  // namespace tt::cpu
