// Elementary functions on vectors, with C's answers at NaN, infinities, signed zeros, subnormals
// and the thresholds of over- and underflow.
//
// float: exp, exp2, log, tanh, sigmoid, erf, rsqrt are evaluated in float, for speed. Their largest
// errors found, in ulp: log 0.85, exp 1.01, exp2 1.08, erf 1.21, tanh 1.34, rsqrt 1.49, sigmoid
// 1.97. The rest goes in double on two half vectors, where a polynomial good to 2^-34 leaves only
// the last rounding: 0.51.
// double: one libm call per lane, no speed claim.
//
// How each works: reduce the argument to a short interval by an identity (named at the function),
// evaluate a polynomial there, undo the reduction. The polynomials are our own minimax fits (Remez
// exchange; the error that is levelled is relative to the function). A fused multiply-add is used
// where there is one and never needed: where bits would be lost, a constant is split in two (Cody
// and Waite, "Software Manual for the Elementary Functions", 1980). A lane's value depends on that
// lane's input alone.
#pragma once
#include "cpu/vec.h"

namespace tt::cpu {
namespace {

// ------------------------------------------------------------------------------------ helpers

constexpr double kLog2E = 1.4426950408889634;   // 1 / ln 2
constexpr double kLog10E = 0.4342944819032518;  // 1 / ln 10
constexpr double kPi = 3.141592653589793;

// a b + c; b and c may be scalars. One instruction and one rounding where the machine has it.
template <class V, class B, class C>
inline V multiply_add(V a, B b, C c) {
#ifdef __FP_FAST_FMAF
  const V factor = b - V{}, term = c - V{};
  V r;
  for (unsigned i = 0; i < sizeof r / sizeof r[0]; ++i) {
    if constexpr (sizeof r[0] == 4) {
      r[i] = __builtin_fmaf(a[i], factor[i], term[i]);
    } else {
      r[i] = __builtin_fma(a[i], factor[i], term[i]);
    }
  }
  return r;
#else
  return a * b + c;
#endif
}

// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
template <class V, class C>
inline V polynomial(V x, C c0, C c1) {
  return multiply_add(x, c1, c0);
}
template <class V, class C, class... Cs>
inline V polynomial(V x, C c0, C c1, C c2, Cs... rest) {
  return multiply_add(polynomial(x, c1, c2, rest...), x, c0);
}

inline Vec<uint32_t> sign_bit(Vec<float> x) { return as_bits(x) & 1u << 31; }
inline Vec<uint64_t> sign_bit(Vec<double> x) { return as_bits(x) & uint64_t{1} << 63; }

template <class V>  // floating point only: integers have their own
inline auto abs(V x) -> decltype(from_bits(as_bits(x))) {
  return from_bits(as_bits(x) ^ sign_bit(x));
}

template <class V>
inline V copysign(V magnitude, V sign) {
  return from_bits((as_bits(magnitude) ^ sign_bit(magnitude)) | sign_bit(sign));
}

// The bounds leave a NaN in x as it is.
template <class V, class T>
inline V at_least(V x, T low) {
  return x < low ? splat<T>(low) : x;
}
template <class V, class T>
inline V at_most(V x, T high) {
  return x > high ? splat<T>(high) : x;
}
template <class V, class T>
inline V clamp(V x, T low, T high) {
  return at_most(at_least(x, low), high);
}

// Adding 1.5 * 2^23 leaves no fraction bits: the sum is rounded to an integer, half to even, which
// then stands in its lowest bits. The double's constant is 1.5 * 2^52.
constexpr float kRound = 12582912.0f;
constexpr double kRoundDouble = 6755399441055744.0;

// 2^k for k from -126 to 127, and from -1022 to 1023.
inline Vec<float> power_of_two(Vec<uint32_t> k) { return from_bits((k + 127) << 23); }
inline Vec<double> power_of_two(Vec<uint64_t> k) { return from_bits((k + 1023) << 52); }

// f in double, on each half; "flatten" has the compiler inline f and all that it calls.
template <class F>
__attribute__((flatten)) inline Vec<float> in_double(Vec<float> x, F f) {
  const Wide w = widen(x);
  return narrow({f(w.lo), f(w.hi)});
}
template <class F>
__attribute__((flatten)) inline Vec<float> in_double(Vec<float> x, Vec<float> y, F f) {
  const Wide a = widen(x), b = widen(y);
  return narrow({f(a.lo, b.lo), f(a.hi, b.hi)});
}

// ------------------------------------------------------------------- rounding and square roots
// Loops of builtins, which GCC turns into one instruction (roundps, sqrtps).

#define TT_EACH_LANE(type, name, builtin)                         \
  inline Vec<type> name(Vec<type> x) {                            \
    return map_lanes(x, [](type lane) { return builtin(lane); }); \
  }
TT_EACH_LANE(float, floor, __builtin_floorf)
TT_EACH_LANE(double, floor, __builtin_floor)
TT_EACH_LANE(float, ceil, __builtin_ceilf)
TT_EACH_LANE(double, ceil, __builtin_ceil)
TT_EACH_LANE(float, trunc, __builtin_truncf)
TT_EACH_LANE(double, trunc, __builtin_trunc)
TT_EACH_LANE(float, round, __builtin_nearbyintf)  // half to even, as PyTorch rounds
TT_EACH_LANE(double, round, __builtin_nearbyint)
TT_EACH_LANE(float, sqrt, __builtin_sqrtf)
TT_EACH_LANE(double, sqrt, __builtin_sqrt)

template <class V>
inline V rsqrt(V x) {
  return 1 / sqrt(x);
}

// -------------------------------------------------------------- float: exp and what is built on it

// e^x = 2^k m with k = round(x / ln 2), m = e^r, r = x - k ln 2 in [-ln 2 / 2, ln 2 / 2].
struct ExpParts {
  Vec<float> m;
  Vec<uint32_t> k;  // in two's complement
};

inline ExpParts exp_parts(Vec<float> x) {
  const Vec<float> shifted = multiply_add(x, 1.44269504f, kRound);
  const Vec<float> n = shifted - kRound;
  // ln 2 in two: the upper part has 16 bits, so that its product with n is exact.
  const Vec<float> r = multiply_add(n, -1.4286068e-06f, multiply_add(n, -0.693145752f, x));
  const Vec<float> tail =
      polynomial(r, 0.49999994f, 0.16666521f, 0.04166839f, 0.008368745f, 0.001381454f);
  return {1 + multiply_add(r * r, tail, r), as_bits(shifted) - as_bits(splat(kRound))};
}

// 2^k m in two steps, neither of which leaves the normal range before the result does.
inline Vec<float> scale(Vec<float> m, Vec<uint32_t> k) {
  const Vec<uint32_t> half =
      reinterpret_cast<Vec<uint32_t>>(reinterpret_cast<Vec<int32_t>>(k) >> 1);
  return m * power_of_two(half) * power_of_two(k - half);
}

inline Vec<float> exp(Vec<float> x) {
  const ExpParts e = exp_parts(clamp(x, -104.0f, 89.0f));
  return scale(e.m, e.k);
}

// For |x| < 87, or NaN: in one step.
inline Vec<float> exp_bounded(Vec<float> x) {
  const ExpParts e = exp_parts(x);
  return e.m * power_of_two(e.k);
}

// 2^x = 2^k 2^r, k = round(x).
inline Vec<float> exp2(Vec<float> x) {
  x = clamp(x, -151.0f, 129.0f);
  const Vec<float> shifted = x + kRound;
  const Vec<float> r = x - (shifted - kRound);
  const Vec<float> tail = polynomial(r, 0.69314724f, 0.24022655f, 0.055502724f, 0.009617063f,
                                     0.0013418214f, 0.0001582247f);
  return scale(multiply_add(r, tail, 1.0f), as_bits(shifted) - as_bits(splat(kRound)));
}

// 1 / (1 + e^-x), from e^-|x|, which cannot overflow; the lower tail keeps its relative accuracy.
inline Vec<float> sigmoid(Vec<float> x) {
  const ExpParts parts = exp_parts(at_least(-abs(x), -104.0f));
  const Vec<float> e = parts.m * power_of_two(parts.k + 64) * 5.42101086e-20f;  // 2^-64
  const Vec<float> sum = 1 + e;
  const Vec<float> lost = e - (sum - 1);  // by rounding; put back below, or 2 ulp would be passed
  const Vec<float> r = select(x < 0, e, splat(1.0f)) / sum;
  return multiply_add(r, -lost, r);
}

// x + x^3 P(x^2) below 0.625, else 1 - 2 / (e^2x + 1) (Cephes' division of the range).
inline Vec<float> tanh(Vec<float> x) {
  const Vec<float> a = at_most(abs(x), 10.0f);  // tanh(10) rounds to 1
  const Vec<float> z = a * a;
  const Vec<float> tail =
      polynomial(z, -0.3333328f, 0.13331406f, -0.053736515f, 0.020628167f, -0.0056922967f);
  const Vec<float> small = multiply_add(a, z * tail, a);
  const Vec<float> large = 1 - 2 / (exp_bounded(2 * a) + 1);
  return copysign(select(a < 0.625f, small, large), x);
}

// x + x P(x^2) below 0.875, else 1 - e^(-x Q(x)), where x Q(x) fits -ln(erfc(x)).
inline Vec<float> erf(Vec<float> x) {
  const Vec<float> a = at_most(abs(x), 4.0f);  // erf(4) rounds to 1
  const Vec<float> small = polynomial(a * a, 0.12837917f, -0.3761263f, 0.11283623f, -0.026855364f,
                                      0.005190951f, -0.0008026742f, 7.870365e-05f);
  const Vec<float> large = polynomial(a, 1.1286271f, 0.6352389f, 0.10609127f, -0.02363606f,
                                      0.003582647f, -0.00030804382f, 9.752412e-06f);
  return copysign(select(a < 0.875f, multiply_add(a, small, a), 1 - exp_bounded(-(a * large))), x);
}

// ------------------------------------------------------------------------------ float: logarithm

// r holds ln of a positive finite x; puts in what the other x have.
template <class V>
inline V log_edges(V x, V r) {
  const V inf = V{} + __builtin_inff();
  const V nan = V{} + __builtin_nanf("");
  r = select(x < inf, r, x);                           // inf gives inf
  return select(x > 0, r, select(x == 0, -inf, nan));  // 0 gives -inf; negatives and NaN, NaN
}

// x = 2^k m with m = 1 + f in [sqrt(1/2), sqrt(2)): ln x = k ln 2 + (f - f^2 / 2 + f^3 P(f)).
inline Vec<float> log(Vec<float> x) {
  const auto subnormal = x < 1.17549435e-38f;
  const Vec<uint32_t> bits = as_bits(select(subnormal, x * 33554432.0f, x));  // 2^25
  const Vec<uint32_t> one = as_bits(splat(1.0f)), least = as_bits(splat(0.707106781f));
  const Vec<uint32_t> biased = (bits - least + one) >> 23;  // k + 127
  const Vec<float> f = from_bits(bits - (biased << 23) + one) - 1;
  const Vec<float> n =
      convert<float>(reinterpret_cast<Vec<int32_t>>(biased) - (127 + (subnormal & 25)));
  const Vec<float> z = f * f;
  const Vec<float> tail =
      polynomial(f, 0.33333313f, -0.2500001f, 0.20002119f, -0.16667996f, 0.14219552f, -0.124055885f,
                 0.118881606f, -0.11675654f, 0.06746647f);
  const Vec<float> low = multiply_add(z * f, tail, n * 1.4286068e-06f);
  const Vec<float> rest = multiply_add(z, -0.5f, low);
  return log_edges(x, multiply_add(n, 0.693145752f, f + rest));
}

// ------------------------------------------- double halves: cores that are good to 2^-34

// e^x = 2^k (1 + p) as in exp_parts; x within +-700, or NaN.
struct WideExpParts {
  Vec<double> power, p;
};

inline WideExpParts wide_exp_parts(Vec<double> x) {
  const Vec<double> shifted = multiply_add(x, kLog2E, kRoundDouble);
  const Vec<double> n = shifted - kRoundDouble;
  const Vec<double> r =
      multiply_add(n, 4.2009150726810846e-11, multiply_add(n, -0.6931471806019545, x));
  const Vec<double> tail = polynomial(
      r, 0.5000000000105317, 0.1666666675413328, 0.04166666595284345, 0.008333289054165504,
      0.001388898528217384, 0.00019904909174845077, 2.4796377575084525e-05);
  return {power_of_two(as_bits(shifted) - as_bits(splat(kRoundDouble))),
          multiply_add(r * r, tail, r)};
}

inline Vec<double> wide_exp(Vec<double> x) {
  const WideExpParts e = wide_exp_parts(clamp(x, -200.0, 200.0));  // float ends at e^-104 and e^89
  return multiply_add(e.power, e.p, e.power);
}

// (2^k - 1) + 2^k p, where neither term cancels what the other lost.
inline Vec<double> wide_expm1(Vec<double> x) {
  const WideExpParts e = wide_exp_parts(clamp(x, -200.0, 200.0));
  return multiply_add(e.power, e.p, e.power - 1);
}

// ln x = k ln 2 + ln m as in log; ln m = 2 atanh(s), s = (m - 1) / (m + 1). Not for subnormals,
// which no float is here.
inline Vec<double> wide_log(Vec<double> x) {
  const Vec<uint64_t> one = as_bits(splat(1.0)), least = as_bits(splat(0.7071067811865476));
  const Vec<uint64_t> biased = (as_bits(x) - least + one) >> 52;  // k + 1023
  constexpr double kTwo52 = 4503599627370496.0;                   // whose last bit is worth 1
  const Vec<double> n = from_bits(biased | as_bits(splat(kTwo52))) - (kTwo52 + 1023.0);
  const Vec<double> m = from_bits(as_bits(x) - (biased << 52) + one);
  const Vec<double> s = (m - 1) / (m + 1);
  const Vec<double> z = s * s;
  const Vec<double> tail = polynomial(z, 0.6666666667580459, 0.3999999562074085, 0.2857210926255455,
                                      0.2217618474373924, 0.19584203639493575);
  return log_edges(x, multiply_add(n, 1 / kLog2E, s * multiply_add(z, tail, 2.0)));
}

// x = n pi/2 + r with r in [-pi/4, pi/4], for |x| up to kTrigLimit: the upper part of pi/2 has 33
// bits and n at most 20, so their product is exact (Cody and Waite).
struct TrigParts {
  Vec<double> r;
  Vec<uint64_t> n;  // its lowest bits
};
constexpr float kTrigLimit = 1e6f;

inline TrigParts trig_parts(Vec<double> x) {
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
inline Vec<double> sin_of_parts(TrigParts t) {
  const Vec<double> value = select((t.n & 1) != 0, cos_near_zero(t.r), sin_near_zero(t.r));
  return from_bits(as_bits(value) ^ (t.n & 2) << 62);
}
inline Vec<double> wide_sin(Vec<double> x) { return sin_of_parts(trig_parts(x)); }
inline Vec<double> wide_cos(Vec<double> x) {
  const TrigParts t = trig_parts(x);
  return sin_of_parts({t.r, t.n + 1});
}
inline Vec<double> wide_tan(Vec<double> x) {
  const TrigParts t = trig_parts(x);
  const Vec<double> s = sin_near_zero(t.r), c = cos_near_zero(t.r);
  const auto odd = (t.n & 1) != 0;
  return select(odd, -c, s) / select(odd, s, c);
}

// For x in [0, 1]: x + x^3 P(x^2).
inline Vec<double> atan_to_one(Vec<double> x) {
  const Vec<double> z = x * x;
  return x * (1 + z * polynomial(z, -0.3333333329596208, 0.19999996880164456, -0.142856229103647,
                                 0.1110975472843149, -0.0907891720319313, 0.07623177826598929,
                                 -0.06391489614464745, 0.050952538598281756, -0.03593762155127377,
                                 0.0205486261533845, -0.00860231122337401, 0.0022867530170643654,
                                 -0.0002854857101568663));
}

// The angle of (x, y): the octant's angle from the smaller over the larger, then unfolded.
inline Vec<double> wide_atan2(Vec<double> y, Vec<double> x) {
  const Vec<double> a = abs(x), b = abs(y);
  const Vec<double> low = select(a < b, a, b), high = select(a < b, b, a);
  Vec<double> ratio = select(high == 0, low, low / high);
  ratio = select(low == __builtin_inf(), splat(1.0), ratio);
  Vec<double> angle = atan_to_one(ratio);
  angle = select(a < b, kPi / 2 - angle, angle);
  angle = select(sign_bit(x) != 0, kPi - angle, angle);
  return copysign(select(x != x, x, angle), y);
}

// e^(y ln |x|), then C's rules for signs and special pairs.
inline Vec<double> wide_pow(Vec<double> x, Vec<double> y) {
  const Vec<double> a = abs(x);
  const Vec<double> value = wide_exp(y * wide_log(a));
  const auto y_is_integer = trunc(y) == y;  // so are the infinities
  const auto y_is_odd = y_is_integer & (trunc(0.5 * y) != 0.5 * y);
  const auto negated = (sign_bit(x) != 0) & y_is_odd;
  const auto undefined = (x < 0) & (a < __builtin_inf()) & ~y_is_integer;
  const auto is_one = (y == 0) | (x == 1) | ((a == 1) & (abs(y) == __builtin_inf()));
  Vec<double> result = select(negated, -value, value);
  result = select(undefined, splat(__builtin_nan("")), result);
  return select(is_one, splat(1.0), result);
}

// erfc x = e^(-x^2) P((x - 3) / (x + 3)) for x >= 0, and 2 - erfc(-x) below (the change of variable
// is Schonfelder's, 1978; the fit reaches to 10.5, where float has underflowed).
inline Vec<double> wide_erfc(Vec<double> x) {
  const Vec<double> a = at_most(abs(x), 10.5);
  const Vec<double> t = (a - 3) / (a + 3);
  const Vec<double> factor = polynomial(
      t, 0.1790011511813036, -0.32623356014951616, 0.2456038018966971, -0.1501159308795044,
      0.07166583027391334, -0.024392585065848852, 0.004269201844723272, 0.0007083248808421667,
      -0.0005972441602026659, 4.3299790809863144e-05, 6.39005471854063e-05, -9.633103738834005e-06,
      -6.726143611427068e-06);
  const Vec<double> tail = wide_exp(-a * a) * factor;
  return select(x < 0, 2 - tail, tail);
}

// ------------------------------------------------------------------- float: what goes by doubles

inline Vec<float> expm1(Vec<float> x) {
  return copysign(in_double(x, [](Vec<double> v) { return wide_expm1(v); }), x);
}

inline Vec<float> log2(Vec<float> x) {
  return in_double(x, [](Vec<double> v) { return wide_log(v) * kLog2E; });
}
inline Vec<float> log10(Vec<float> x) {
  return in_double(x, [](Vec<double> v) { return wide_log(v) * kLog10E; });
}
// In double 1 + x loses nothing that a float shows, unless x is so small that ln(1 + x) is x.
inline Vec<float> log1p(Vec<float> x) {
  const Vec<float> r = in_double(x, [](Vec<double> v) { return wide_log(1 + v); });
  return select(abs(x) < 2.98023224e-8f, x, r);  // 2^-25
}

inline Vec<float> erfc(Vec<float> x) {
  return in_double(x, [](Vec<double> v) { return wide_erfc(v); });
}

// Beyond kTrigLimit libm reduces the argument, by as many digits of pi as that takes.
template <class F, class Libm>
inline Vec<float> trigonometric(Vec<float> x, F f, Libm libm) {
  const Vec<float> r = in_double(x, f);
  const auto huge = abs(x) > kTrigLimit;
  return any(huge) ? map_lanes_where(huge, r, libm, x) : r;
}
inline Vec<float> sin(Vec<float> x) {
  return trigonometric(
      x, [](Vec<double> v) { return wide_sin(v); }, [](double v) { return __builtin_sin(v); });
}
inline Vec<float> cos(Vec<float> x) {
  return trigonometric(
      x, [](Vec<double> v) { return wide_cos(v); }, [](double v) { return __builtin_cos(v); });
}
inline Vec<float> tan(Vec<float> x) {
  return trigonometric(
      x, [](Vec<double> v) { return wide_tan(v); }, [](double v) { return __builtin_tan(v); });
}

inline Vec<float> atan2(Vec<float> y, Vec<float> x) {
  return in_double(y, x, [](Vec<double> b, Vec<double> a) { return wide_atan2(b, a); });
}
inline Vec<float> atan(Vec<float> x) { return atan2(x, splat(1.0f)); }

inline Vec<float> pow(Vec<float> x, Vec<float> y) {
  return in_double(x, y, [](Vec<double> a, Vec<double> b) { return wide_pow(a, b); });
}

// x - trunc(x / y) y is exact in double while the quotient has at most 28 bits; libm does the rest.
inline Vec<float> fmod(Vec<float> x, Vec<float> y) {
  const Vec<float> r = in_double(
      x, y, [](Vec<double> a, Vec<double> b) { return copysign(a - trunc(a / b) * b, a); });
  const auto hard = (abs(x) >= abs(y) * 268435456.0f) | ~(abs(y) < __builtin_inff());
  if (!any(hard)) return r;
  return map_lanes_where(hard, r, [](float a, float b) { return __builtin_fmodf(a, b); }, x, y);
}

// ---------------------------------------------------------------------- double: libm, lane by lane

TT_EACH_LANE(double, exp, __builtin_exp)
TT_EACH_LANE(double, exp2, __builtin_exp2)
TT_EACH_LANE(double, expm1, __builtin_expm1)
TT_EACH_LANE(double, log, __builtin_log)
TT_EACH_LANE(double, log2, __builtin_log2)
TT_EACH_LANE(double, log10, __builtin_log10)
TT_EACH_LANE(double, log1p, __builtin_log1p)
TT_EACH_LANE(double, tanh, __builtin_tanh)
TT_EACH_LANE(double, erf, __builtin_erf)
TT_EACH_LANE(double, erfc, __builtin_erfc)
TT_EACH_LANE(double, sin, __builtin_sin)
TT_EACH_LANE(double, cos, __builtin_cos)
TT_EACH_LANE(double, tan, __builtin_tan)
TT_EACH_LANE(double, atan, __builtin_atan)
#undef TT_EACH_LANE

inline Vec<double> sigmoid(Vec<double> x) {
  const Vec<double> e = exp(-abs(x));
  return select(x < 0, e, splat(1.0)) / (1 + e);
}

inline Vec<double> atan2(Vec<double> y, Vec<double> x) {
  return map_lanes(y, x, [](double a, double b) { return __builtin_atan2(a, b); });
}
inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  return map_lanes(x, y, [](double a, double b) { return __builtin_pow(a, b); });
}
inline Vec<double> fmod(Vec<double> x, Vec<double> y) {
  return map_lanes(x, y, [](double a, double b) { return __builtin_fmod(a, b); });
}

// Python's %: the result has the divisor's sign.
template <class V>
inline auto remainder(V x, V y) -> decltype(fmod(x, y)) {
  const V r = fmod(x, y);
  return select((r != 0) & ((y < 0) != (r < 0)), r + y, r);
}

}  // namespace
}  // namespace tt::cpu
