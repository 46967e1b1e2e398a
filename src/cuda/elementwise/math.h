// ops.def's vocabulary for one element, as a thread of a kernel has it. Where CUDA has the
// function, it is CUDA's (on the host, C's).
//
// float: by CUDA's own float functions; errors: CUDA C++ Programming Guide, "Mathematical
// Functions". erfinv, digamma, trigamma, i0 and i1 go in double.
#pragma once
#include <cfloat>

#include "core/dtypes/half.h"
#include "core/formulas/gamma.h"
#include "core/formulas/int_math.h"
#include "core/formulas/wrapping.h"
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

template <class T>
using IfInteger = std::enable_if_t<std::is_integral_v<T>, T>;
template <class T>
using IfFloat = std::enable_if_t<std::is_floating_point_v<T>, T>;

template <class V, class T>
__device__ V broadcast(T x) {
  return static_cast<V>(x);
}
template <class V, class X, class Y>
__device__ V select_as(bool condition, X x, Y y) {
  return condition ? static_cast<V>(x) : static_cast<V>(y);
}
// For numbers, too: ops.def's `y / 2` is an int where y is a small integer.
template <class X, class Y>
__device__ std::common_type_t<X, Y> select(bool condition, X x, Y y) {
  return condition ? x : y;
}

// ---- integers -----------------------------------------------------------------------------------
template <class T>
__device__ IfInteger<T> abs(T x) {
  return x < T{} ? wrapping_neg(x) : x;
}
#define TT_IDENTITY(name)             \
  template <class T>                  \
  __device__ IfInteger<T> name(T x) { \
    return x;                         \
  }
TT_IDENTITY(floor)
TT_IDENTITY(ceil)
TT_IDENTITY(trunc)
TT_IDENTITY(round)
#undef TT_IDENTITY
template <class T>
__device__ IfInteger<T> bitwise_not(T x) {
  return static_cast<T>(~x);
}
#define TT_INTEGERS(name, function)        \
  template <class T>                       \
  __device__ IfInteger<T> name(T x, T y) { \
    return function(x, y);                 \
  }
TT_INTEGERS(floor_divide, int_floor_divide)
TT_INTEGERS(trunc_divide, int_divide)
TT_INTEGERS(remainder, int_remainder)
TT_INTEGERS(fmod, int_modulo)
TT_INTEGERS(pow, int_pow)
TT_INTEGERS(gcd, int_gcd)
TT_INTEGERS(lcm, int_lcm)
TT_INTEGERS(left_shift, int_left_shift)
TT_INTEGERS(right_shift, int_right_shift)
#undef TT_INTEGERS

// ---- floats: CUDA's -----------------------------------------------------------------------------
#define TT_FUNCTION(name, as_float, as_double)                  \
  __device__ inline float name(float x) { return as_float(x); } \
  __device__ inline double name(double x) { return as_double(x); }
TT_FUNCTION(abs, ::fabsf, ::fabs)
TT_FUNCTION(floor, ::floorf, ::floor)
TT_FUNCTION(ceil, ::ceilf, ::ceil)
TT_FUNCTION(trunc, ::truncf, ::trunc)
TT_FUNCTION(round, ::nearbyintf, ::nearbyint)  // half to even, as PyTorch rounds
TT_FUNCTION(sqrt, ::sqrtf, ::sqrt)
TT_FUNCTION(rsqrt, 1.0f / ::sqrtf, 1.0 / ::sqrt)
TT_FUNCTION(exp, ::expf, ::exp)
TT_FUNCTION(exp2, ::exp2f, ::exp2)
TT_FUNCTION(expm1, ::expm1f, ::expm1)
TT_FUNCTION(log, ::logf, ::log)
TT_FUNCTION(log2, ::log2f, ::log2)
TT_FUNCTION(log10, ::log10f, ::log10)
TT_FUNCTION(log1p, ::log1pf, ::log1p)
TT_FUNCTION(log1p_to_one, ::log1pf, ::log1p)
TT_FUNCTION(sin, ::sinf, ::sin)
TT_FUNCTION(cos, ::cosf, ::cos)
TT_FUNCTION(tan, ::tanf, ::tan)
TT_FUNCTION(asin, ::asinf, ::asin)
TT_FUNCTION(acos, ::acosf, ::acos)
TT_FUNCTION(atan, ::atanf, ::atan)
TT_FUNCTION(sinh, ::sinhf, ::sinh)
TT_FUNCTION(cosh, ::coshf, ::cosh)
TT_FUNCTION(tanh, ::tanhf, ::tanh)
TT_FUNCTION(asinh, ::asinhf, ::asinh)
TT_FUNCTION(acosh, ::acoshf, ::acosh)
TT_FUNCTION(atanh, ::atanhf, ::atanh)
TT_FUNCTION(erf, ::erff, ::erf)
TT_FUNCTION(erfc, ::erfcf, ::erfc)
TT_FUNCTION(lgamma, (float)log_gamma, log_gamma)
#undef TT_FUNCTION

#define TT_FUNCTION(name, as_float, as_double)                              \
  __device__ inline float name(float x, float y) { return as_float(x, y); } \
  __device__ inline double name(double x, double y) { return as_double(x, y); }
TT_FUNCTION(pow, ::powf, ::pow)
TT_FUNCTION(fmod, ::fmodf, ::fmod)
TT_FUNCTION(atan2, ::atan2f, ::atan2)
TT_FUNCTION(copysign, ::copysignf, ::copysign)
#undef TT_FUNCTION

__device__ inline unsigned sign_bit(float x) { return bits_of(x) >> 31; }
__device__ inline unsigned sign_bit(double x) { return ::copysign(1.0, x) < 0; }

template <class T>
__device__ IfFloat<T> sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}
// Overloads the one of core/formulas/activations.h, which rounds 1 + erf(x) where that is near 0.
__device__ inline float normal_cdf(float x) { return erfc(x * -0.707106781f) / 2; }
__device__ inline double normal_cdf(double x) { return erfc(x * -0.70710678118654752) / 2; }

template <class T>
__device__ IfFloat<T> polygamma(T x, T order) {
  return static_cast<T>(polygamma_of(order, x));
}
// x 2^floor(y), rounded once.
template <class T>
__device__ IfFloat<T> scalbn(T x, T y) {
  const T power = floor(y) < T(-3000) ? T(-3000) : floor(y) > T(3000) ? T(3000) : floor(y);
  return power != power ? power
                        : static_cast<T>(::ldexp(static_cast<double>(x), static_cast<int>(power)));
}

// x = m 2^e with 1/2 <= |m| < 1. Zeros, infinities and NaN are their own m, with e = 0.
template <class T>
struct Frexp {
  T mantissa, exponent;
};
template <class T>
__device__ Frexp<T> frexp(T x) {
  if (x == 0 || !(abs(x) < T(INFINITY))) return {x, T(0)};
  int exponent;
  const double mantissa = ::frexp(static_cast<double>(x), &exponent);
  return {static_cast<T>(mantissa), static_cast<T>(exponent)};
}

// ---- what CUDA has not --------------------------------------------------------------------------
// Giles' approximation in w = -ln(1 - x^2) ("Approximating the erfinv function", 2010), then one
// step of Halley's method, on erfc where erf is near 1.
__device__ inline double erfinv(double x) {
  const double a = ::fabs(x);
  if (!(a < 1)) return a == 1 ? x * INFINITY : NAN;
  const double w = -(::log1p(-a) + ::log1p(a));
  const double near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                         -4.39150654e-06, 0.00021858087,  -0.00125372503,
                         -0.00417768164,  0.246640727,    1.50140941};
  const double far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                        -0.00367342844,  0.00573950773,  -0.0076224613,
                        0.00943887047,   1.00167406,     2.83297682};
  const double t = w < 5 ? w - 2.5 : ::sqrt(w) - 3;
  double p = 0;
  for (int k = 0; k < 9; ++k) p = p * t + (w < 5 ? near[k] : far[k]);
  double y = p * a;
  for (int k = 0; k < 2; ++k) {
    const double miss = a < 0.5 ? ::erf(y) - a : (1 - a) - ::erfc(y);
    const double step = miss / (1.1283791670955126 * ::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return ::copysign(y, x);
}
__device__ inline float erfinv(float x) {
  return static_cast<float>(erfinv(static_cast<double>(x)));
}

// Negative arguments by reflection.
__device__ inline double digamma(double x) {
  if (x == 0) return ::copysign(static_cast<double>(INFINITY), -x);
  if (!(x < 0)) return positive_digamma(x);
  if (x == ::floor(x)) return NAN;
  const double part = x - ::trunc(x);
  return positive_digamma(1 - x) - 3.14159265358979323846 / ::tan(3.14159265358979323846 * part);
}
__device__ inline float digamma(float x) {
  return static_cast<float>(digamma(static_cast<double>(x)));
}

__device__ inline double trigamma(double x) {
  double sign = 1, result = 0;
  if (x < 0.5) {
    const double s = ::sin(3.14159265358979323846 * x);
    sign = -1;
    result = -9.8696044010893586 / (s * s);
    x = 1 - x;
  }
  for (; x < 10; ++x) result += 1 / (x * x);
  const double z = 1 / (x * x);
  const double series =
      z * (1 / 6.0 -
           z * (1 / 30.0 -
                z * (1 / 42.0 - z * (1 / 30.0 - z * (5 / 66.0 - z * (691 / 2730.0 - z * 7 / 6))))));
  return sign * (result + (1 + 0.5 / x + series) / x);
}
__device__ inline float trigamma(float x) {
  return static_cast<float>(trigamma(static_cast<double>(x)));
}

// The modified Bessel functions: the power series up to 20, then the asymptotic one in 1/x, both
// summed until a term no longer counts.
template <int order>
__device__ inline double bessel_i(double x) {
  const double a = ::fabs(x);
  if (!(a < INFINITY)) return order == 1 ? x : a;
  double term = 1, sum = 0;
  if (a < 20) {
    if (order == 1) term = a / 2;
    for (int k = 1; sum + term != sum; ++k) {
      sum += term;
      term *= a * a / (4.0 * k * (k + order));
    }
  } else {
    const double mu = 4.0 * order * order;
    for (int k = 1; k < 40 && sum + term != sum; ++k) {
      sum += term;
      term *= ((2.0 * k - 1) * (2.0 * k - 1) - mu) / (8.0 * a * k);
    }
    sum *= ::exp(a / 2) / ::sqrt(6.28318530717958648 * a) * ::exp(a / 2);
  }
  return order == 1 && x < 0 ? -sum : sum;
}
__device__ inline double i0(double x) { return bessel_i<0>(x); }
__device__ inline double i1(double x) { return bessel_i<1>(x); }
__device__ inline float i0(float x) { return static_cast<float>(bessel_i<0>(x)); }
__device__ inline float i1(float x) { return static_cast<float>(bessel_i<1>(x)); }

}  // namespace
}  // namespace tt::cuda
