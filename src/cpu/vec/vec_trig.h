// Trigonometric functions on vectors, by vec_math.h's rules.
//
// float: evaluated in float. Largest errors found, in ulp: sin and cos 1.11 (1.29 without a fused
// multiply-add), atan 1.25, tan 1.47, atan2 1.57. Beside them the sine and tangent in
// double that the gamma functions need, good to 2^-34. double: one libm call per lane, no speed
// claim.
#pragma once
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

// pi/2 in two, the first rounded to float.
constexpr float kHalfPi = 1.57079637f, kHalfPiRest = -4.37113883e-08f;

// --------------------------------------------------------------------------------------- float

// x = n pi/2 + (r - excess) with r in [-pi/4, pi/4], or hardly beyond, for |x| up to kTrigLimit.
// For x = -0, r is -0 and excess +0: then r minus a sum with excess, as below, is -0, too.
struct TrigParts {
  Vec<float> r, excess;
  Vec<uint32_t> n;  // its lowest bits
};
constexpr float kTrigLimit = 1e6f;

inline TrigParts trig_parts(Vec<float> x) {
  const Vec<float> shifted = multiply_add(x, 0.636619772f, kRound);
  const Vec<float> n = shifted - kRound;
#ifdef __FP_FAST_FMAF
  // pi/2 in three. The first difference is exact: it is no larger than 1, and its last bit is the
  // first part's. That is rounded down, so that for n = 0 both products are -0.
  constexpr float kFirst = 1.57079625f, kSecond = 7.54979013e-08f;
  const Vec<float> high = multiply_add(n, -kFirst, x);
  const Vec<float> low = n * -kSecond, low_rest = multiply_add(n, -kSecond, -low);
  const Vec<float> r = high + low;
  const Vec<float> excess = ((r - high) - low) - multiply_add(n, 1.71512451e-15f, low_rest);
#else
  // In double: the upper part of pi/2 has 33 bits and n at most 20, so their product is exact.
  const Wide wide_x = widen(x), wide_n = widen(n);
  auto reduced = [](Vec<double> v, Vec<double> m) {
    return (v - m * 1.5707963267341256) - m * 6.077100506506192e-11;
  };
  const Wide exact = {reduced(wide_x.lo, wide_n.lo), reduced(wide_x.hi, wide_n.hi)};
  const Vec<float> r = narrow(exact);
  const Wide rounded = widen(r);
  const Vec<float> excess = narrow({rounded.lo - exact.lo, rounded.hi - exact.hi});
#endif
  return {r, excess, as_bits(shifted)};
}

// sin(r + n pi/2): sin r, cos r, -sin r, -cos r by the two lowest bits of n.
inline Vec<float> sin_of_parts(TrigParts t) {
  const Vec<float> z = t.r * t.r;
  const Vec<float> odd = polynomial(z, 0.166666478f, -0.00833175797f, 0.000194636668f);
  const Vec<float> even = polynomial(z, -0.5f, 0.0416666344f, -0.00138867681f, 2.43740615e-05f);
  const Vec<float> sine = t.r - multiply_add(t.r * z, odd, t.excess);
  const Vec<float> cosine = 1 + multiply_add(z, even, t.r * t.excess);
  const Vec<float> value = select((t.n & 1) != 0, cosine, sine);
  return from_bits(as_bits(value) ^ (t.n << 30 & 1u << 31));
}

// tan r = r - r^3 P(r^2), as tangent + lost; where n is odd, -1 over that.
inline Vec<float> tan_of_parts(TrigParts t) {
  const Vec<float> z = t.r * t.r;
  const Vec<float> odd = polynomial(z, -0.33333391f, -0.133313537f, -0.0542010963f, -0.0205890164f,
                                    -0.0125433579f, 0.00196711603f, -0.00534016592f);
  const Vec<float> tail = multiply_add(t.r * z, odd, t.excess);
  const Vec<float> tangent = t.r - tail, lost = (t.r - tangent) - tail;
  const Vec<float> q = -1 / tangent;
  const Vec<float> miss = multiply_add(q, lost, multiply_add(q, tangent, 1.0f));
  return select((t.n & 1) != 0, multiply_add(q, miss, q), tangent);
}

// Beyond kTrigLimit libm reduces the argument, by as many digits of pi as that takes.
template <class F, class Libm>
inline Vec<float> trigonometric(Vec<float> x, F f, Libm libm) {
  const Vec<float> r = f(trig_parts(x));
  const auto huge = abs(x) > kTrigLimit;
  return any(huge) ? map_lanes_where(huge, r, libm, x) : r;
}
inline Vec<float> sin(Vec<float> x) {
  return trigonometric(x, sin_of_parts, [](double v) { return __builtin_sin(v); });
}
inline Vec<float> cos(Vec<float> x) {
  return trigonometric(
      x, [](TrigParts t) { return sin_of_parts({t.r, t.excess, t.n + 1}); },
      [](double v) { return __builtin_cos(v); });
}
inline Vec<float> tan(Vec<float> x) {
  return trigonometric(x, tan_of_parts, [](double v) { return __builtin_tan(v); });
}

// base + rest + atan s for |s| <= 1: s + s^3 P(s^2).
inline Vec<float> angle(Vec<float> s, Vec<float> base, Vec<float> rest) {
  const Vec<float> z = s * s;
  const Vec<float> odd =
      polynomial(z, -0.333332986f, 0.199985489f, -0.142642409f, 0.109521829f, -0.0840344131f,
                 0.0579574369f, -0.0311776828f, 0.0109145157f, -0.00179360097f);
  return (base + s) + multiply_add(s * z, odd, rest);
}

// atan x = pi/2 - atan(1 / x).
inline Vec<float> atan(Vec<float> x) {
  const Vec<float> a = abs(x), zero{};
  const auto steep = a > 1;
  return copysign(angle(select(steep, -1 / a, a), select(steep, splat(kHalfPi), zero),
                        select(steep, splat(kHalfPiRest), zero)),
                  x);
}

// The angle of (x, y): the octant's angle from the smaller over the larger, then unfolded.
inline Vec<float> atan2(Vec<float> y, Vec<float> x) {
  const Vec<float> a = abs(x), b = abs(y), zero{};
  const auto steep = a < b, left = sign_bit(x) != 0;
  const Vec<float> low = select(steep, a, b), high = select(steep, b, a);
  Vec<float> ratio = select(high == 0, low, low / high);
  ratio = select(low == __builtin_inff(), splat(1.0f), ratio);
  const Vec<float> quarters = select(steep, splat(1.0f), select(left, splat(2.0f), zero));
  const Vec<float> s = select(steep ^ left, -ratio, ratio);
  const Vec<float> r = angle(s, quarters * kHalfPi, quarters * kHalfPiRest);
  return copysign(select(x != x, x, r), y);
}

// -------------------------------------------------------------- double halves, good to 2^-34

// x = n pi/2 + r with r in [-pi/4, pi/4], for |x| up to kTrigLimit: the upper part of pi/2 has 33
// bits and n at most 20, so their product is exact (Cody and Waite).
struct WideTrigParts {
  Vec<double> r;
  Vec<uint64_t> n;  // its lowest bits
};

inline WideTrigParts wide_trig_parts(Vec<double> x) {
  const Vec<double> shifted = multiply_add(x, 2 / kPi, kRoundDouble);
  const Vec<double> n = shifted - kRoundDouble;
  const Vec<double> r =
      multiply_add(n, -6.077100506506192e-11, multiply_add(n, -1.5707963267341256, x));
  return {r, as_bits(shifted)};
}

inline Vec<double> sin_near_zero(Vec<double> r) {
  const Vec<double> z = r * r;
  return r * (1 + z * polynomial(z, -0.16666666641526917, 0.008333329374125604,
                                 -0.00019839330997699112, 2.7182744768584637e-06));
}
inline Vec<double> cos_near_zero(Vec<double> r) {
  const Vec<double> z = r * r;
  return 1 + z * polynomial(z, -0.49999999999542855, 0.041666666561666295, -0.0013888881055679281,
                            2.479903603254305e-05, -2.7179730460952655e-07);
}

// sin(r + n pi/2): sin r, cos r, -sin r, -cos r by the two lowest bits of n.
inline Vec<double> wide_sin(Vec<double> x) {
  const WideTrigParts t = wide_trig_parts(x);
  const Vec<double> value = select((t.n & 1) != 0, cos_near_zero(t.r), sin_near_zero(t.r));
  return from_bits(as_bits(value) ^ (t.n & 2) << 62);
}
inline Vec<double> wide_tan(Vec<double> x) {
  const WideTrigParts t = wide_trig_parts(x);
  const Vec<double> s = sin_near_zero(t.r), c = cos_near_zero(t.r);
  const auto odd = (t.n & 1) != 0;
  return select(odd, -c, s) / select(odd, s, c);
}

// ---------------------------------------------------------------------- double: libm, lane by lane

TT_EACH_LANE(double, sin, __builtin_sin)
TT_EACH_LANE(double, cos, __builtin_cos)
TT_EACH_LANE(double, tan, __builtin_tan)
TT_EACH_LANE(double, atan, __builtin_atan)
inline Vec<double> atan2(Vec<double> y, Vec<double> x) {
  return map_lanes(y, x, [](double a, double b) { return __builtin_atan2(a, b); });
}

}  // namespace
}  // namespace tt::cpu
