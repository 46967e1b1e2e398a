// Special functions of one double, for what libm does not have and makes no speed claim.
//
// In an anonymous namespace, because files built per instruction set include it (Note [No weak
// symbols]).
#pragma once
#include <cmath>
#include <cstdint>

#include "core/devices/host_device.h"

namespace tt {
namespace {

// libm's lgamma writes a global variable.
TT_HOST_DEVICE inline double log_gamma(double x) {
#ifdef __CUDA_ARCH__
  return lgamma(x);
#else
  int sign;
  return __builtin_lgamma_r(x, &sign);
#endif
}

TT_HOST_DEVICE inline double integer_power(double x, int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) result *= x;
  return result;
}

// The sum of 1 / (q + k)^s over k >= 0, for q > 0 and s >= 2: ten terms, then the Euler-Maclaurin
// formula for the rest: an integral, half a term, and derivatives with Bernoulli's numbers.
TT_HOST_DEVICE inline double zeta_of_positive(int64_t s, double q) {
  double sum = 0;
  for (int k = 0; k < 10; ++k) sum += 1 / integer_power(q + k, s);
  const double a = q + 10, term = 1 / integer_power(a, s);
  sum += 1 / integer_power(a, s - 1) / static_cast<double>(s - 1) + term / 2;
  constexpr double bernoulli[] = {1 / 12.0,          -1 / 720.0,
                                  1 / 30240.0,       -1 / 1209600.0,
                                  1 / 47900160.0,    -691 / 1307674368000.0,
                                  1 / 74724249600.0, -3617 / 10670622842880000.0};  // B2k / (2k)!
  double factor = static_cast<double>(s) / a;
  for (int k = 0; k < 8; ++k) {
    sum += bernoulli[k] * factor * term;
    factor *= static_cast<double>(s + 2 * k + 1) / a * (static_cast<double>(s + 2 * k + 2) / a);
  }
  return sum;
}

// Hurwitz's zeta function. Of negative q the terms below 0 are those of two sums above it.
TT_HOST_DEVICE inline double hurwitz_zeta(int64_t s, double q) {
  if (!(q <= 0)) return zeta_of_positive(s, q);
  const double below = std::floor(q);
  if (q == below) return INFINITY;
  const double up = q - below, down = 1 - up;
  const double between = zeta_of_positive(s, down) - zeta_of_positive(s, down - below);
  return zeta_of_positive(s, up) + (s % 2 ? -between : between);
}

// The n-th derivative of digamma, n >= 2: (-1)^(n + 1) n! zeta(n + 1, x).
TT_HOST_DEVICE inline double polygamma_of(double order, double x) {
  const int64_t n = static_cast<int64_t>(order < 1e9 ? order : 1e9);
  double factorial = n % 2 ? 1 : -1;
  for (int64_t k = 2; k <= n && factorial - factorial == 0; ++k)
    factorial *= static_cast<double>(k);
  return factorial * hurwitz_zeta(n + 1, x);
}

}  // namespace
}  // namespace tt
