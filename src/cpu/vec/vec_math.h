// Elementary functions on vectors, with C's answers at NaN, infinities, signed zeros, subnormals
// and the thresholds of over- and underflow.
//
// float: evaluated in float, for speed. Largest errors found, in ulp: log 0.78, log10 0.81 (1.28
// without a fused multiply-add), exp 0.98, log2 1.10 (1.42), exp2 1.08, erf 1.21, tanh 1.25, rsqrt
// 0.51 (1.49), sigmoid 1.97, erfc 2.75 (3.30). expm1, log1p, pow, fmod go in double on two half
// vectors, where a polynomial good to 2^-34 leaves only the last rounding: 0.51. double: one libm
// call per lane, no speed claim.
//
// How each works: reduce the argument to a short interval by an identity (named at the function),
// evaluate a polynomial there, undo the reduction. The polynomials are our own minimax fits (Remez
// exchange; the error that is levelled is relative to the function). A fused multiply-add is used
// where there is one and never needed: where bits would be lost, a constant is split in two (Cody
// and Waite, "Software Manual for the Elementary Functions", 1980). A lane's value depends on that
// lane's input alone.
#pragma once
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

// ------------------------------------------------------------------------------------ helpers

constexpr double kLog2E = 1.4426950408889634;  // 1 / ln 2
constexpr double kPi = 3.141592653589793;
constexpr float kLn2 = -0.693145752f, kLn2Rest = -1.4286068e-06f;  // -ln 2 in two

// a b + c; b and c may be scalars. One instruction and one rounding where the machine has it.
template <class V, class B, class C>
inline V multiply_add(V a, B b, C c) {
  return fused(a, broadcast<V>(b), broadcast<V>(c));
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
  return larger_of(splat<T>(low), x);
}
template <class V, class T>
inline V at_most(V x, T high) {
  return smaller_of(splat<T>(high), x);
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

inline Vec<double> rsqrt(Vec<double> x) { return 1 / sqrt(x); }

// -------------------------------------------------------------- float: exp and what is built on it

// e^x = 2^n m with n = round(x / ln 2), m = e^r, r = x - n ln 2 in [-ln 2 / 2, ln 2 / 2].
struct ExpParts {
  Vec<float> m, n;
  Vec<uint32_t> k;  // n in two's complement
};

inline Vec<float> exp_tail(Vec<float> r) {  // of e^r = 1 + r + r^2 tail
  return polynomial(r, 0.49999994f, 0.16666521f, 0.04166839f, 0.008368745f, 0.001381454f);
}

inline ExpParts exp_parts(Vec<float> x) {
  const Vec<float> shifted = multiply_add(x, 1.44269504f, kRound);
  const Vec<float> n = shifted - kRound;
  // ln 2 in two: the upper part has 16 bits, so that its product with n is exact.
  const Vec<float> r = multiply_add(n, kLn2Rest, multiply_add(n, kLn2, x));
  return {1 + multiply_add(r * r, exp_tail(r), r), n, as_bits(shifted) - as_bits(splat(kRound))};
}

// m 2^n, rounded once where it is subnormal.
inline Vec<float> scale(Vec<float> m, Vec<float> n) {
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(-1, m, n);
#else  // in two steps, neither of which leaves the normal range before the result does
  const Vec<int32_t> k = convert<int32_t>(n), half = k >> 1;
  return m * power_of_two(reinterpret_cast<Vec<uint32_t>>(half)) *
         power_of_two(reinterpret_cast<Vec<uint32_t>>(k - half));
#endif
}

inline Vec<float> exp(Vec<float> x) {
  const ExpParts e = exp_parts(clamp(x, -104.0f, 89.0f));
  return scale(e.m, e.n);
}

// For |x| < 87, or NaN: in one step.
inline Vec<float> exp_bounded(Vec<float> x) {
  const ExpParts e = exp_parts(x);
  return e.m * power_of_two(e.k);
}

// 2^x = 2^n m, n = round(x).
inline ExpParts exp2_parts(Vec<float> x) {
  const Vec<float> shifted = x + kRound;
  const Vec<float> n = shifted - kRound, r = x - n;
  const Vec<float> tail = polynomial(r, 0.69314724f, 0.24022655f, 0.055502724f, 0.009617063f,
                                     0.0013418214f, 0.0001582247f);
  return {multiply_add(r, tail, 1.0f), n, as_bits(shifted) - as_bits(splat(kRound))};
}

inline Vec<float> exp2(Vec<float> x) {
  const ExpParts e = exp2_parts(clamp(x, -151.0f, 129.0f));
  return scale(e.m, e.n);
}

// 2^x for x <= 0, or NaN; 0 below 2^-125, at the latest below 2^-150.
inline Vec<float> exp2_below_1(Vec<float> x) {
#ifdef __AVX512F__
  const ExpParts e = exp2_parts(at_least(x, -151.0f));
  return scale(e.m, e.n);
#else
  const ExpParts e = exp2_parts(at_least(x, -126.0f));
  return select(x < -125, Vec<float>{}, e.m * power_of_two(e.k));
#endif
}

// 1 / (1 + e^-x), from e^-|x|, which cannot overflow; the lower tail keeps its relative accuracy.
inline Vec<float> sigmoid(Vec<float> x) {
  const Vec<float> e = exp(-abs(x));
  const Vec<float> sum = 1 + e;
  const Vec<float> lost = e - (sum - 1);  // by rounding; put back below, or 2 ulp would be passed
  const Vec<float> r = select(x < 0, e, splat(1.0f)) / sum;
  return multiply_add(r, -lost, r);
}

// x + x^3 P(x^2) below 0.625, else 1 - 2 / (e^2x + 1) (Cephes' division of the range), where
// e^2x = 2^n e^2r with r = x - n ln 2 / 2: of a term so small one float of ln 2 is enough.
inline Vec<float> tanh(Vec<float> x) {
  const Vec<float> a = at_most(abs(x), 10.0f);  // tanh(10) rounds to 1
  const Vec<float> z = a * a;
  const Vec<float> tail =
      polynomial(z, -0.3333328f, 0.13331406f, -0.053736515f, 0.020628167f, -0.0056922967f);
  const Vec<float> small = multiply_add(a * z, tail, a);
  const Vec<float> shifted = multiply_add(a, 2.88539008f, kRound);
  const Vec<float> r = multiply_add(shifted - kRound, -0.34657359f, a);
  const Vec<float> m =
      polynomial(r, 1.0f, 2.0f, 1.99999976f, 1.33332168f, 0.66669424f, 0.26779984f, 0.088413056f);
  const Vec<float> power = power_of_two(as_bits(shifted) - as_bits(splat(kRound)));
  const Vec<float> large = 1 - 2 / multiply_add(m, power, 1.0f);
  return copysign(select(a < 0.625f, small, large), x);
}

// erf x = x + x P(x^2), for |x| < 0.875.
inline Vec<float> erf_near_zero(Vec<float> x) {
  return polynomial(x * x, 0.12837917f, -0.3761263f, 0.11283623f, -0.026855364f, 0.005190951f,
                    -0.0008026742f, 7.870365e-05f);
}

// Beyond, 1 - e^(-x Q(x)), where x Q(x) fits -ln(erfc(x)).
inline Vec<float> erf(Vec<float> x) {
  const Vec<float> a = at_most(abs(x), 4.0f);  // erf(4) rounds to 1
  const Vec<float> small = multiply_add(a, erf_near_zero(a), a);
  const Vec<float> large = polynomial(a, 1.1286271f, 0.6352389f, 0.10609127f, -0.02363606f,
                                      0.003582647f, -0.00030804382f, 9.752412e-06f);
  return copysign(select(a < 0.875f, small, 1 - exp_bounded(-(a * large))), x);
}

// Beyond, e^(-x^2) P((x - 3) / (x + 3)) for positive x, and 2 - erfc(-x) for negative (the change
// of variable is Schonfelder's, 1978; the fit reaches to 10.5, where float has underflowed). x^2 is
// taken in two: the square of x's upper 12 bits, which is exact, and what that lacks.
inline Vec<float> erfc(Vec<float> x) {
  const Vec<float> a = at_most(abs(x), 10.5f);
  const Vec<float> upper = from_bits(as_bits(a) & 0xfffff000);
  const Vec<float> square = upper * upper, rest = (a - upper) * (a + upper);
  const Vec<float> n = multiply_add(square + rest, -1.44269504f, kRound) - kRound;
  const Vec<float> r = multiply_add(n, kLn2, -square) + multiply_add(n, kLn2Rest, -rest);
  const Vec<float> factor =
      polynomial((a - 3) / (a + 3), 0.179001153f, -0.326233566f, 0.245603651f, -0.150115684f,
                 0.07166899f, -0.0243967958f, 0.00424681557f, 0.000731839507f, -0.000533564365f);
  const Vec<float> less = multiply_add(r * r, exp_tail(r), r);  // e^r - 1
  const Vec<float> tail = scale(multiply_add(factor, less, factor), n);
  const Vec<float> large = select(x < 0, 2 - tail, tail);
  return select(a < 0.875f, (1 - x) - x * erf_near_zero(x), large);
}

// ------------------------------------------------------------------------------ float: logarithm

// r holds ln of a positive finite x; puts in what the other x have.
template <class V>
inline V log_edges(V x, V r) {
  const V inf = broadcast<V>(__builtin_inff());
  const V nan = broadcast<V>(__builtin_nanf(""));
  r = select(x < inf, r, x);                           // inf gives inf
  return select(x > 0, r, select(x == 0, -inf, nan));  // 0 gives -inf; negatives and NaN, NaN
}

// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); ln(1 + f) = f + rest, where rest = -f^2 / 2 +
// f^3 P(f).
struct LogParts {
  Vec<float> n, f, rest;
};

// For positive normal x.
inline LogParts log_parts(Vec<float> x) {
#ifdef __AVX512F__
  const Split<Vec<float>> p = split(x);
  const Vec<float> n = p.n, f = p.m - 1;
#else
  const Vec<uint32_t> least = as_bits(splat(0.707106781f)), bits = as_bits(x) - least;
  const Vec<float> n = convert<float>(reinterpret_cast<Vec<int32_t>>(bits) >> 23);
  const Vec<float> f = from_bits((bits & 0x7fffff) + least) - 1;
#endif
  const Vec<float> z = f * f;
  const Vec<float> tail =
      polynomial(f, 0.33333313f, -0.2500001f, 0.20002119f, -0.16667996f, 0.14219552f, -0.124055885f,
                 0.118881606f, -0.11675654f, 0.06746647f);
  return {n, f, multiply_add(z * f, tail, -0.5f * z)};
}

// f(log_parts(x)), with the other x put in where a vector has such.
template <class F>
inline Vec<float> logarithm(Vec<float> x, F f) {
  const Vec<float> r = f(log_parts(x));
#ifdef __AVX512F__
  return r;
#endif
  if (!any(as_bits(x) - 0x00800000 >= 0x7f000000)) return r;
  LogParts p = log_parts(x * 33554432.0f);  // 2^25
  p.n = p.n - 25;
  return log_edges(x, select(x < 1.17549435e-38f, f(p), r));
}

inline Vec<float> log(Vec<float> x) {
  return logarithm(x, [](LogParts p) {
    return multiply_add(p.n, -kLn2, p.f + multiply_add(p.n, -kLn2Rest, p.rest));
  });
}

// c (f + rest) for c = head + tail, in two parts: the first is what c f rounds to.
struct Product {
  Vec<float> first, rest;
};
inline Product times(LogParts p, float head, float tail) {
  const Vec<float> first = p.f * head, lost = multiply_add(p.f, head, -first);
  return {first, multiply_add(p.rest, head, multiply_add(p.f, tail, lost))};
}

inline Vec<float> log2(Vec<float> x) {
  return logarithm(x, [](LogParts p) {
    const Product m = times(p, 1.44269502f, 1.92596303e-08f);
    return p.n + m.first + m.rest;
  });
}
inline Vec<float> log10(Vec<float> x) {
  return logarithm(x, [](LogParts p) {
    const Product m = times(p, 0.434294492f, -1.01e-08f);
    return multiply_add(p.n, 0.301025391f, m.first + multiply_add(p.n, 4.60503907e-06f, m.rest));
  });
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

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), by x's bits: for positive normal x.
struct PowerAndRest {
  Vec<double> n, m;
};
inline PowerAndRest split_bits(Vec<double> x) {
  const Vec<uint64_t> one = as_bits(splat(1.0)), least = as_bits(splat(0.7071067811865476));
  const Vec<uint64_t> biased = (as_bits(x) - least + one) >> 52;  // n + 1023
  constexpr double kTwo52 = 4503599627370496.0;                   // whose last bit is worth 1
  return {from_bits(biased | as_bits(splat(kTwo52))) - (kTwo52 + 1023.0),
          from_bits(as_bits(x) - (biased << 52) + one)};
}

// ln x = k ln 2 + ln m as in log; ln m = 2 atanh(s), s = (m - 1) / (m + 1). Not for subnormals,
// which no float is here.
inline Vec<double> wide_log(Vec<double> x) {
#ifdef __AVX512F__
  const auto [n, m] = split(x);
#else
  const auto [n, m] = split_bits(x);
#endif
  const Vec<double> s = (m - 1) * reciprocal_of_number(m + 1);
  const Vec<double> z = s * s;
  const Vec<double> tail = polynomial(z, 0.6666666667580459, 0.3999999562074085, 0.2857210926255455,
                                      0.2217618474373924, 0.19584203639493575);
  const Vec<double> r = multiply_add(n, 1 / kLog2E, s * multiply_add(z, tail, 2.0));
#ifdef __AVX512F__
  return r;
#else
  return log_edges(x, r);
#endif
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

// ------------------------------------------------------------------- float: what goes by doubles

inline Vec<float> expm1(Vec<float> x) {
  return copysign(in_double(x, [](Vec<double> v) { return wide_expm1(v); }), x);
}

// In double 1 + x loses nothing that a float shows, unless x is so small that ln(1 + x) is x.
inline Vec<float> log1p(Vec<float> x) {
  const Vec<float> r = in_double(x, [](Vec<double> v) { return wide_log(1 + v); });
  return select(abs(x) < 2.98023224e-8f, x, r);  // 2^-25
}

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

inline Vec<double> sigmoid(Vec<double> x) {
  const Vec<double> e = exp(-abs(x));
  return select(x < 0, e, splat(1.0)) / (1 + e);
}

inline Vec<double> fmod(Vec<double> x, Vec<double> y) {
  return map_lanes(x, y, [](double a, double b) { return __builtin_fmod(a, b); });
}

}  // namespace
}  // namespace tt::cpu
