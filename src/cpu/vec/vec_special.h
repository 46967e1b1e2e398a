// Inverse trigonometric, hyperbolic and special functions on vectors, by vec_math.h's rules and
// from its pieces.
//
// float: asin, acos, sinh, cosh, atanh, erfinv, logaddexp, logaddexp2 are evaluated in float, the
// others in double on two half vectors. Largest errors found, in ulp: acos 1.04, logaddexp 1.15,
// atanh 1.31, cosh 1.33, logaddexp2 1.44, sinh 1.59, normal_cdf 1.91 (above -1), asin 1.94,
// erfinv 2.60; the rest 0.51, save beside the zeros of lgamma and digamma (1e-9 there). double:
// libm where it has the function, else these algorithms to more terms.
#pragma once
#include "core/formulas/special.h"
#include "cpu/vec/vec_pow.h"
#include "cpu/vec/vec_trig.h"

namespace tt::cpu {
namespace {

// ------------------------------------------------------------------- float: evaluated in float

// asin x = s + s z P(z) with z = s^2: s is |x| below 1/2; above, asin x = pi/2 - 2 asin(s) with
// s = sqrt((1 - |x|) / 2), whose square loses nothing.
struct AsinParts {
  Vec<float> s, rest;  // which add up to asin(s)
  Mask<float> folded;
};

inline AsinParts asin_parts(Vec<float> a) {
  const auto folded = a > 0.5f;
  const Vec<float> z = select(folded, 0.5f * (1 - a), a * a);
  const Vec<float> s = select(folded, sqrt(z), a);
  const Vec<float> tail = polynomial(z, 0.1666666f, 0.07500504f, 0.044516955f, 0.031807717f,
                                     0.014438604f, 0.037516452f);
  return {s, s * z * tail, folded};
}

inline Vec<float> asin(Vec<float> x) {
  const AsinParts p = asin_parts(abs(x));
  const Vec<float> folded = (kHalfPi - 2 * p.s) - (2 * p.rest - kHalfPiRest);
  return copysign(select(p.folded, folded, p.s + p.rest), x);
}

inline Vec<float> acos(Vec<float> x) {
  const AsinParts p = asin_parts(abs(x));
  const Vec<float> core = p.s + p.rest, twice = 2 * core;
  const Vec<float> folded = select(x < 0, 2 * kHalfPi - (twice - 2 * kHalfPiRest), twice);
  return select(p.folded, folded, kHalfPi - (copysign(core, x) - kHalfPiRest));
}

// e^|x| / 2, which overflows no earlier than sinh and cosh do.
inline Vec<float> half_exp(Vec<float> x) {
  const ExpParts e = exp_parts(at_most(abs(x), 91.0f));
  return scale(e.m, e.n - 1);
}

// x + x^3 P(x^2) below 1, else (e^x - e^-x) / 2.
inline Vec<float> sinh(Vec<float> x) {
  const Vec<float> a = abs(x), z = a * a, h = half_exp(x);
  const Vec<float> tail = polynomial(z, 0.16666667f, 0.00833335f, 0.0001983616f, 2.8169513e-06f);
  return copysign(select(a < 1, multiply_add(a * z, tail, a), h - 0.25f / h), x);
}

inline Vec<float> cosh(Vec<float> x) {
  const Vec<float> h = half_exp(x);
  return h + 0.25f / h;
}

// x + x^3 P(x^2) below 1/2, else ln((1 + x) / (1 - x)) / 2.
inline Vec<float> atanh(Vec<float> x) {
  const Vec<float> a = abs(x), z = a * a;
  const Vec<float> tail =
      polynomial(z, 0.33333302f, 0.20002519f, 0.14222763f, 0.11823716f, 0.0513588f, 0.17669037f);
  const Vec<float> large = 0.5f * log((1 + a) / (1 - a));
  return copysign(select(a < 0.5f, multiply_add(a * z, tail, a), large), x);
}

// The inverse of erf is x P(w) with w = -ln(1 - x^2); past w = 5, a polynomial in sqrt(w) (Giles,
// "Approximating the erfinv function", 2010).
inline Vec<float> erfinv(Vec<float> x) {
  const Vec<float> w = -log((1 - x) * (1 + x)), root = sqrt(w);
  const Vec<float> middle =
      polynomial(w - 2.5f, 1.5014094f, 0.2466403f, -0.0041773394f, -0.0012527447f, 0.00021828263f,
                 -4.9619107e-06f, -3.4346112e-06f, 4.6589184e-07f, 1.8037106e-08f, -8.772805e-09f,
                 3.3554745e-10f);
  const Vec<float> outer =
      polynomial(root - 3.0f, 2.8329768f, 1.0016749f, 0.009445202f, -0.0076369853f, 0.00568773f,
                 -0.003598845f, 0.0014830636f, -5.403537e-05f, -0.00030791748f, 0.00011382717f);
  const Vec<float> r = x * select(w < 5, middle, outer);
  return select(abs(x) == 1, x * __builtin_inff(), r);
}

// ln(1 + x) for x in [0, 1]: x + x^2 P(x). 1.0 ulp.
inline Vec<float> log1p_to_one(Vec<float> x) {
  const Vec<float> tail =
      polynomial(x, -0.499999315f, 0.33330512f, -0.249585882f, 0.196954072f, -0.153554171f,
                 0.106805898f, -0.0576647818f, 0.020204762f, -0.00331851118f);
  return multiply_add(x * x, tail, x);
}

// The normal distribution below -a is e^(-a Q(a)) / 2 for positive a; the rest of 1 is above.
inline Vec<float> normal_cdf(Vec<float> x) {
  const Vec<float> a = abs(x);
  const Vec<float> exponent =
      a * polynomial(a, -1.1511054f, -0.459209323f, -0.0524761826f, 0.00699589401f,
                     -3.65796477e-05f, -0.000264204689f, 7.27028309e-05f, -1.04620331e-05f,
                     8.25557947e-07f, -2.81022068e-08f);
  const Vec<float> twice = exp2_below_1(exponent);
  return select(x < 0, 0.5f * twice, multiply_add(twice, -0.5f, 1.0f));
}

// ---------------------------------------------------------------- float: by doubles, on each half

inline Vec<float> asinh(Vec<float> x) {
  const Vec<float> r =
      in_double(abs(x), [](Vec<double> a) { return wide_log(a + sqrt(a * a + 1)); });
  return copysign(select(abs(x) < 1.22070312e-4f, abs(x), r), x);  // below 2^-13 it is x
}

inline Vec<float> acosh(Vec<float> x) {
  const Vec<float> r = in_double(x, [](Vec<double> a) { return wide_log(a + sqrt(a * a - 1)); });
  return select(x < 1, splat(__builtin_nanf("")), r);
}

// For x > 0, where gamma's logarithm is (x - 1)(x - 2) P(x) on [1, 2]; below 1 it is that of x + 1,
// less ln x; up to 8 that of x - k, plus the logarithm of the product between; beyond, Stirling's
// series.
inline Vec<double> wide_lgamma_positive(Vec<double> x) {
  Vec<double> u = select(x < 1, x + 1, x), product = select(x < 1, 1 / x, splat(1.0));
  for (int k = 0; k < 6; ++k) {
    const auto above = u > 2;
    u = select(above, u - 1, u);
    product = select(above, product * u, product);
  }
  const Vec<double> t = u - 1.5;
  const Vec<double> core = polynomial(
      t, 0.483128950495899, -0.14595989572190177, 0.06291141393375163, -0.03130850866790478,
      0.016796506297574832, -0.00942495841264199, 0.005456375667964497, -0.0032209544850479526,
      0.0018487714714855185, -0.0011073894974490035, 0.0009591771126365347, -0.0006080970020599923);
  const auto large = x >= 8;
  const Vec<double> log = wide_log(select(large, x, product));
  const Vec<double> r = 1 / x;
  const Vec<double> series = r * polynomial(r * r, 1 / 12.0, -1 / 360.0, 1 / 1260.0, -1 / 1680.0);
  constexpr double kHalfLogTwoPi = 0.9189385332046727;
  const Vec<double> stirling = (x - 0.5) * (log - 1) + (series + (kHalfLogTwoPi - 0.5));
  return select(large, stirling, multiply_add((u - 1) * (u - 2), core, log));
}

// By reflection below 0: ln(pi / |sin(pi x)|) - lgamma(1 - x).
inline Vec<double> wide_lgamma(Vec<double> x) {
  const auto reflected = x <= 0;
  const Vec<double> positive = wide_lgamma_positive(select(reflected, 1 - x, x));
  Vec<double> r = select(x == __builtin_inf(), x, positive);
  if (!any(reflected)) return r;
  const Vec<double> sine = abs(wide_sin((x - round(x)) * kPi));
  r = select(reflected, wide_log(kPi / sine) - positive, r);
  return select(reflected & (x == floor(x)), splat(__builtin_inf()), r);  // poles, and -inf
}

inline Vec<float> lgamma(Vec<float> x) {
  return in_double(x, [](Vec<double> v) { return wide_lgamma(v); });
}

// digamma(x + 1) = digamma(x) + 1/x, ten times; then the asymptotic series. The ten reciprocals are
// one quotient, p'/p of the product p. Below 0 by reflection: digamma(1 - x) - pi / tan(pi x).
template <class Log, class Tan>
inline Vec<double> digamma_by(Vec<double> x, Log log, Tan tan) {
  const auto reflected = x < 0;
  const Vec<double> u = select(reflected, 1 - x, x);
  Vec<double> p = splat(1.0), slope{}, y = u;
  for (int k = 0; k < 10; ++k) {
    slope = multiply_add(slope, y, p);
    p = p * y;
    y = y + 1;
  }
  const auto large = u >= 10;
  y = select(large, u, y);
  const Vec<double> r = 1 / y, z = r * r;
  const Vec<double> series = z * polynomial(z, 1 / 12.0, -1 / 120.0, 1 / 252.0, -1 / 240.0,
                                            1 / 132.0, -691 / 32760.0, 1 / 12.0);
  Vec<double> result = log(y) - 0.5 * r - series;
  result = select(large, result, result - slope / p);
  result = select(x == 0, copysign(splat(__builtin_inf()), -x), result);
  if (!any(reflected)) return result;
  const auto pole = x == floor(x);  // -inf too
  const Vec<double> angle = select(pole, splat(0.0), x - round(x)) * kPi;
  result = select(reflected, result - kPi / tan(angle), result);
  return select(reflected & pole, splat(__builtin_nan("")), result);
}

inline Vec<float> digamma(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    return digamma_by(
        v, [](Vec<double> y) { return wide_log(y); }, [](Vec<double> y) { return wide_tan(y); });
  });
}

// The derivative of digamma by the same steps: the sum of squared reciprocals is (p'/p)^2 - p''/p.
// Below 0 by reflection: (pi / sin(pi x))^2 - trigamma(1 - x).
template <class Sin>
inline Vec<double> trigamma_by(Vec<double> x, Sin sin) {
  const auto reflected = x < 0;
  const Vec<double> u = select(reflected, 1 - x, x);
  Vec<double> p = splat(1.0), slope{}, curve{}, y = u;
  for (int k = 0; k < 10; ++k) {
    curve = multiply_add(curve, y, 2 * slope);
    slope = multiply_add(slope, y, p);
    p = p * y;
    y = y + 1;
  }
  const auto large = u >= 10;
  y = select(large, u, y);
  const Vec<double> r = 1 / y, z = r * r, ratio = slope / p;
  const Vec<double> series =
      z * r *
      polynomial(z, 1 / 6.0, -1 / 30.0, 1 / 42.0, -1 / 30.0, 5 / 66.0, -691 / 2730.0, 7 / 6.0);
  Vec<double> result = r + 0.5 * z + series;
  result = select(large, result, result + (ratio * ratio - curve / p));
  result = select(x == 0, splat(__builtin_inf()), result);
  if (!any(reflected)) return result;
  const Vec<double> cosecant = kPi / sin((x - round(x)) * kPi);
  return select(reflected, cosecant * cosecant - result, result);
}

inline Vec<float> trigamma(Vec<float> x) {
  return in_double(
      x, [](Vec<double> v) { return trigamma_by(v, [](Vec<double> y) { return wide_sin(y); }); });
}

// ------------------------------------------------------------------------------------- double

TT_EACH_LANE(double, asin, __builtin_asin)
TT_EACH_LANE(double, acos, __builtin_acos)
TT_EACH_LANE(double, asinh, __builtin_asinh)
TT_EACH_LANE(double, acosh, __builtin_acosh)
TT_EACH_LANE(double, atanh, __builtin_atanh)
TT_EACH_LANE(double, sinh, __builtin_sinh)
TT_EACH_LANE(double, cosh, __builtin_cosh)
TT_EACH_LANE(double, lgamma, log_gamma)
#undef TT_EACH_LANE

inline Vec<double> log1p_to_one(Vec<double> x) { return log1p(x); }

// As the float's, in three pieces, good to 2^-29.
inline Vec<double> erfinv_near(Vec<double> x, Vec<double> w) {
  const Vec<double> root = sqrt(w), s = root - 3, t = root - 5;
  const Vec<double> middle = polynomial(
      w, 0.8862269254317174, 0.23201366826244915, 0.011549318784605002, -0.002334979600520495,
      -0.0001283744699950734, 4.714478046284167e-05, 1.4695541407698364e-06, -6.326198008280794e-07,
      -2.1582559935269654e-07, 7.942048475907474e-08, -1.0747116688906586e-08,
      7.166472202538896e-10, -1.97684030274215e-11);
  const Vec<double> outer =
      polynomial(s, 2.8329767989028465, 1.0016752463632907, 0.009445500378063661,
                 -0.0076429393313713866, 0.005685345353899361, -0.0035658587266523827,
                 0.001484919485534275, -0.00012494805376570475, -0.00029440155198930844,
                 0.00017023184258344338, -1.911323497702984e-05, -6.986899227614343e-06);
  const Vec<double> far =
      polynomial(t, 4.849906399696307, 1.0103004553125765, -0.00013866710010720405,
                 -0.00021493613176285664, 7.572879399485953e-05, -1.9878902879149024e-05,
                 4.9810910286934215e-06, -9.379403644071636e-07);
  const Vec<double> r = x * select(w < 5, middle, select(w < 17, outer, far));
  return select(abs(x) == 1, x * __builtin_inf(), r);
}

// One step of Halley's method from that, on erfc where erf is near 1.
inline Vec<double> erfinv(Vec<double> x) {
  const Vec<double> a = abs(x), y = erfinv_near(a, -(log1p(-a) + log1p(a)));
  const Vec<double> miss = select(a < 0.5, erf(y) - a, (1 - a) - erfc(y));
  const Vec<double> step = miss / (2 / __builtin_sqrt(kPi) * exp(-y * y));
  const Vec<double> r = y - step / (1 + y * step);
  return copysign(select(a == 1, y, r), x);
}

inline Vec<double> digamma(Vec<double> x) {
  return digamma_by(x, [](Vec<double> y) { return log(y); }, [](Vec<double> y) { return tan(y); });
}

inline Vec<double> trigamma(Vec<double> x) {
  return trigamma_by(x, [](Vec<double> y) { return sin(y); });
}

// ------------------------------------------------------------------------------ both: from these

template <class V>
using IfFloats = decltype(from_bits(as_bits(V{})));

template <class V>
inline IfFloats<V> polygamma(V x, V n) {
  return map_lanes(x, n, [](double lane, double order) { return polygamma_of(order, lane); });
}

// x 2^floor(y), rounded once.
inline Vec<float> scalbn(Vec<float> x, Vec<float> y) {
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(-1, x, y);
#else  // from any float to any other it is at most 277 powers
  return in_double(x, clamp(floor(y), -300.0f, 300.0f), [](Vec<double> a, Vec<double> n) {
    return a * power_of_two(as_bits(n + kRoundDouble) - as_bits(splat(kRoundDouble)));
  });
#endif
}
inline Vec<double> scalbn(Vec<double> x, Vec<double> y) {
  return map_lanes(x, clamp(floor(y), -3000.0, 3000.0), [](double lane, double n) {
    return __builtin_ldexp(lane, static_cast<int>(n));
  });
}

// x = m 2^e with 1/2 <= |m| < 1. Zeros, infinities and NaN are their own m, with e = 0.
template <class V>
struct Frexp {
  V mantissa, exponent;
};
template <class V>
inline Frexp<V> frexp(V x) {
  constexpr bool wide = sizeof(x[0]) == 8;
  constexpr int fraction = wide ? 52 : 23, bias = wide ? 1022 : 126, shift = fraction + 1;
  using T = decltype(x[0] + 0);
  const auto subnormal = abs(x) < static_cast<T>(wide ? 2.2250738585072014e-308 : 1.17549435e-38);
  const auto bits = as_bits(select(subnormal, x * static_cast<T>(int64_t{1} << shift), x));
  const auto half = as_bits(broadcast<V>(0.5f)),
             exponent_bits = as_bits(broadcast<V>(__builtin_inff()));
  const V mantissa = from_bits((bits & ~exponent_bits) | half);
  const auto biased = reinterpret_cast<decltype(x == x)>((bits & exponent_bits) >> fraction);
  const V exponent = __builtin_convertvector(biased - bias - (subnormal & shift), V);
  const auto ordinary = (x != 0) & (abs(x) < __builtin_inff());
  return {select(ordinary, mantissa, x), select(ordinary, exponent, V{})};
}

}  // namespace
}  // namespace tt::cpu
