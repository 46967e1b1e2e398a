// The gamma distribution's cumulative function, and how gamma and Dirichlet draws follow their
// parameters: exact series in float64, where PyTorch approximates.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include "core/formulas/special.h"

namespace tt {
namespace {

// For x > 0: by recurrence up to 10, then the asymptotic series.
TT_HOST_DEVICE inline double positive_digamma(double x) {
  double result = 0;
  for (; x < 10; ++x) result -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1 / 12.0 - z * (1 / 120.0 -
                           z * (1 / 252.0 -
                                z * (1 / 240.0 - z * (1 / 132.0 - z * (691 / 32760.0 - z / 12))))));
  return result + std::log(x) - 0.5 / x - series;
}

TT_HOST_DEVICE inline double gamma_density_at(double a, double x) {
  return std::exp((a - 1) * std::log(x) - x - log_gamma(a));
}

// The probability that a draw is below x: a power series, or for large x 1 less a continued
// fraction (Lentz's way of computing it).
TT_HOST_DEVICE inline double gamma_cdf(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return NAN;
  if (x == 0) return 0;
  const bool a_is_infinite = a == static_cast<double>(INFINITY);
  if (a == 0 || x == static_cast<double>(INFINITY)) return a_is_infinite ? NAN : 1;
  if (a_is_infinite) return 0;
  const double scale = gamma_density_at(a, x) * x;
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
TT_HOST_DEVICE inline double gamma_slope(double a, double x) {
  if (!(a > 0 && x > 0)) return a != a || x != x ? NAN : 0;
  if (a > 1e5) {
    // There the quantile of a normal z is a + z sqrt(a) + (z^2 - 1) / 3 + ... (Cornish and Fisher).
    const double root = std::sqrt(a);
    double z = (x - a) / root;
    for (int i = 0; i < 4; ++i)
      z = (x - a - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root)) / root;
    return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * a * root);
  }
  double term = x / a, log_slope = std::log(x) - positive_digamma(a + 1), sum = term * log_slope;
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
TT_HOST_DEVICE inline double dirichlet_slope(double x, double a, double total) {
  const double b = total - a, y = 1 - x;
  if (!(x > 0 && y > 0 && a > 0 && b > 0)) return x + a + b != x + a + b ? NAN : 0;
  const bool lower = x <= 0.5;
  const double power = lower ? x : y, base = lower ? a : b;
  double term = x / base;
  double log_slope = std::log(x) + positive_digamma(total) - positive_digamma(lower ? a + 1 : a);
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

}  // namespace
}  // namespace tt
