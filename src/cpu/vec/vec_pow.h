// x^y in double on vectors, by vec_math.h's rules: 0.88 ulp where there is a fused multiply-add,
// else libm, lane by lane.
//
// y ln x reaches 709, and its absolute error is the result's relative one: the logarithm and the
// product are the sums of two doubles, good to 2^-65.
#pragma once
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

#ifdef __FP_FAST_FMA

struct TwoDoubles {
  Vec<double> high, low;
};

inline TwoDoubles product(Vec<double> a, Vec<double> b) {
  const Vec<double> high = a * b;
  return {high, fused(a, b, -high)};
}

// ln 2 in two: the upper part has 41 bits, so that its product with an exponent is exact.
constexpr double kUpperLn2 = 0.693147180559663, kLowerLn2 = 2.8235290563031577e-13;

// x = 2^n m as in log, for positive normal x; ln m = 2 atanh(s) = s (2 + z (2/3 + z P(z))) with
// s = (m - 1) / (m + 1) and z = s^2. What a step loses goes into the low part of the next.
inline TwoDoubles log_in_two(Vec<double> x) {
  const auto [n, m] = split_bits(x);
  const Vec<double> f = m - 1, sum = m + 1, sum_low = m - (sum - 1), inverse = 1 / sum;
  const Vec<double> s = f * inverse;
  const Vec<double> s_low = (fused(-s, sum, f) - s * sum_low) * inverse;
  const TwoDoubles square = product(s, s);
  const Vec<double> z = square.high, z_low = multiply_add(2 * s, s_low, square.low);

  constexpr double kTwoThirds = 0.6666666666666666, kTwoThirdsRest = 3.700743415417188e-17;
  const Vec<double> t = z * polynomial(z, 0.4, 0.2857142857142937, 0.22222222221654886,
                                       0.18181818335596966, 0.1538459494268614, 0.13334805682678746,
                                       0.1170621189429132, 0.11723416012537606);
  const Vec<double> u = kTwoThirds + t, u_low = ((kTwoThirds - u) + t) + kTwoThirdsRest;
  const TwoDoubles w = product(z, u);
  const Vec<double> w_low = multiply_add(z, u_low, multiply_add(z_low, u, w.low));
  const Vec<double> v = 2 + w.high, v_low = ((2 - v) + w.high) + w_low;
  const TwoDoubles p = product(s, v);
  const Vec<double> p_low = multiply_add(s, v_low, multiply_add(s_low, v, p.low));

  const Vec<double> whole = n * kUpperLn2, high = whole + p.high;
  return {high, ((whole - high) + p.high) + multiply_add(n, kLowerLn2, p_low)};
}

// e^(x.high + x.low) for |x.high| < 700, as exp_parts.
inline Vec<double> exp_of_two(TwoDoubles x) {
  const Vec<double> shifted = multiply_add(x.high, kLog2E, kRoundDouble);
  const Vec<double> n = shifted - kRoundDouble;
  const Vec<double> most = multiply_add(n, -kUpperLn2, x.high);
  const Vec<double> rest = multiply_add(n, -kLowerLn2, x.low);
  const Vec<double> r = most + rest, r_low = (most - r) + rest;
  const Vec<double> tail = polynomial(
      r, 0.5000000000000011, 0.1666666666666641, 0.04166666666652919, 0.008333333333495627,
      0.0013888888943921454, 0.00019841269504751636, 2.4801492763973955e-05, 2.7557587357531655e-06,
      2.7630378228186743e-07, 2.4999960208336418e-08);
  const Vec<double> m = 1 + (r + multiply_add(r * r, tail, r_low));
  return m * power_of_two(as_bits(shifted) - as_bits(splat(kRoundDouble)));
}

// libm has the rest: what is not a positive normal number, or ends near a threshold.
inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  const TwoDoubles log = log_in_two(x), q = product(y, log.high);
  const Vec<double> value = exp_of_two({q.high, multiply_add(y, log.low, q.low)});
  const auto rare =
      ~((x >= 2.2250738585072014e-308) & (x < __builtin_inf()) & (abs(q.high) < 700.0));
  if (!any(rare)) return value;
  return map_lanes_where(rare, value, [](double a, double b) { return __builtin_pow(a, b); }, x, y);
}

#else

inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  return map_lanes(x, y, [](double a, double b) { return __builtin_pow(a, b); });
}

#endif

}  // namespace
}  // namespace tt::cpu
