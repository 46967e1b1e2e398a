// The integer arithmetic of ops.def for one element: it wraps around. Division by zero has been
// refused before a kernel runs (core/api/elementwise.cpp).
//
// In an anonymous namespace, because files built per instruction set include it (Note [No weak
// symbols]).
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/devices/host_device.h"

namespace tt {
namespace {

// x / y as C rounds it; the one quotient that overflows wraps around instead of trapping.
template <class T>
TT_HOST_DEVICE T int_divide(T x, T y) {
  if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  return static_cast<T>(x / y);
}
template <class T>
TT_HOST_DEVICE T int_modulo(T x, T y) {
  return std::is_signed_v<T> && y == static_cast<T>(-1) ? T{} : static_cast<T>(x % y);
}
// Python's x // y and x % y: the rest has the sign of y.
template <class T>
TT_HOST_DEVICE T int_floor_divide(T x, T y) {
  const T rest = int_modulo(x, y);
  return static_cast<T>(int_divide(x, y) - (rest != 0 && (rest < 0) != (y < 0)));
}
template <class T>
TT_HOST_DEVICE T int_remainder(T x, T y) {
  const T rest = int_modulo(x, y);
  return static_cast<T>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

// By repeated squaring; a negative exponent leaves 0, or +-1 for a base of +-1.
template <class T>
TT_HOST_DEVICE T int_pow(T x, T y) {
  using U = std::make_unsigned_t<T>;
  if (y < 0) return static_cast<T>(x == 1 ? 1 : x == static_cast<T>(-1) ? (y % 2 ? -1 : 1) : 0);
  uint64_t result = 1, base = static_cast<U>(x);
  for (U rest = static_cast<U>(y); rest; rest >>= 1) {
    if (rest & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <class T>
TT_HOST_DEVICE auto magnitude(T x) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(x < 0 ? 0 - static_cast<U>(x) : static_cast<U>(x));
}
// Euclid's algorithm, on the magnitudes.
template <class T>
TT_HOST_DEVICE T int_gcd(T a, T b) {
  auto x = magnitude(a), y = magnitude(b);
  while (y) {
    const auto rest = static_cast<decltype(x)>(x % y);
    x = y;
    y = rest;
  }
  return static_cast<T>(x);
}
template <class T>
TT_HOST_DEVICE T int_lcm(T a, T b) {
  const T divisor = int_gcd(a, b);
  if (divisor == 0) return T{};
  const auto product = static_cast<uint64_t>(int_divide(a, divisor)) * static_cast<uint64_t>(b);
  using Wide = decltype(a * b);  // at least int, as PyTorch's and NumPy's
  return static_cast<T>(magnitude(static_cast<Wide>(product)));
}

// Shifting by the width or more leaves no bit but the sign's; so does, in PyTorch, a negative
// count.
template <class T>
TT_HOST_DEVICE T int_left_shift(T x, T y) {
  const auto count = static_cast<std::make_unsigned_t<T>>(y);
  return count < 8 * sizeof(T) ? static_cast<T>(static_cast<uint64_t>(x) << count) : T{};
}
template <class T>
TT_HOST_DEVICE T int_right_shift(T x, T y) {
  const auto count = static_cast<std::make_unsigned_t<T>>(y);
  const auto last = 8 * sizeof(T) - std::is_signed_v<T>;
  if (count > last) return std::is_signed_v<T> ? static_cast<T>(x >> last) : T{};
  return static_cast<T>(count == 8 * sizeof(T) ? 0 : x >> count);
}

}  // namespace
}  // namespace tt
