// ops.def's vocabulary for vectors of integers. Arithmetic wraps around; division by zero has been
// refused before a kernel runs (core/api/elementwise.cpp).
#pragma once
#include "core/wrapping.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

template <class V>
using IfIntegers = std::enable_if_t<std::is_integral_v<std::decay_t<decltype(V{}[0])>>, V>;

template <class V>
IfIntegers<V> abs(V x) {
  return select(x < V{}, wrapping_neg(x), x);
}
template <class V>
IfIntegers<V> floor(V x) {
  return x;
}
template <class V>
IfIntegers<V> ceil(V x) {
  return x;
}
template <class V>
IfIntegers<V> trunc(V x) {
  return x;
}
template <class V>
IfIntegers<V> round(V x) {
  return x;
}
template <class V>
IfIntegers<V> bitwise_not(V x) {
  return ~x;
}

// x / y as C rounds it; the one quotient that overflows wraps around instead of trapping.
template <class T>
T divide(T x, T y) {
  if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  return static_cast<T>(x / y);
}
template <class T>
T modulo(T x, T y) {
  return std::is_signed_v<T> && y == static_cast<T>(-1) ? T{} : static_cast<T>(x % y);
}

// f(x, y, q) of numbers below 2^51, in double, where q = x / y is so near the exact quotient that
// no integer lies between them; other lanes make a vector go the slow way, by divisions of
// integers.
template <class F, class Slow>
Vec<int64_t> by_doubles(Vec<int64_t> x, Vec<int64_t> y, F f, Slow slow) {
  using Bits = Vec<uint64_t>;
  const Bits zero = as_bits(splat(kRoundDouble)), half = splat(uint64_t{1} << 51);
  const Bits a = reinterpret_cast<Bits>(x), b = reinterpret_cast<Bits>(y);
  if (any((((a + half) | (b + half)) >> 52) != 0)) return map_lanes(x, y, slow);
  const auto number = [=](Bits v) { return from_bits(v + zero) - kRoundDouble; };
  const Vec<double> r = f(number(a), number(b), number(a) / number(b));
  return reinterpret_cast<Vec<int64_t>>(as_bits(r + kRoundDouble) - zero);
}
template <class V, class F, class Slow>
V by_doubles(V x, V y, F, Slow slow) {
  return map_lanes(x, y, slow);
}

template <class V>
IfIntegers<V> floor_divide(V x, V y) {
  const auto down = [](auto, auto, auto q) { return floor(q); };
  return by_doubles(x, y, down, [](auto a, auto b) {
    using T = decltype(a);
    const T remainder = modulo(a, b);
    return static_cast<T>(divide(a, b) - (remainder != 0 && (remainder < 0) != (b < 0)));
  });
}
template <class V>
IfIntegers<V> trunc_divide(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) { return divide(a, b); });
}
template <class V>
IfIntegers<V> fmod(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) { return modulo(a, b); });
}
// The sign is y's.
template <class V>
IfIntegers<V> remainder(V x, V y) {
  const auto rest = [](auto a, auto b, auto q) { return a - floor(q) * b; };
  return by_doubles(x, y, rest, [](auto a, auto b) {
    using T = decltype(a);
    const T remainder = modulo(a, b);
    return static_cast<T>(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
  });
}
// By repeated squaring; a negative exponent leaves 0, or +-1 for a base of +-1.
template <class V>
IfIntegers<V> pow(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) {
    using T = decltype(a);
    using U = std::make_unsigned_t<T>;
    if (b < 0) return static_cast<T>(a == 1 ? 1 : a == static_cast<T>(-1) ? (b % 2 ? -1 : 1) : 0);
    uint64_t result = 1, base = static_cast<U>(a);
    for (U rest = static_cast<U>(b); rest; rest >>= 1) {
      if (rest & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  });
}

template <class T>
auto magnitude(T x) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(x < 0 ? 0 - static_cast<U>(x) : static_cast<U>(x));
}
// Euclid's algorithm, on the magnitudes.
template <class T>
T gcd_of(T a, T b) {
  auto x = magnitude(a), y = magnitude(b);
  while (y) {
    const auto rest = static_cast<decltype(x)>(x % y);
    x = y;
    y = rest;
  }
  return static_cast<T>(x);
}
template <class V>
IfIntegers<V> gcd(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) { return gcd_of(a, b); });
}
template <class V>
IfIntegers<V> lcm(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) {
    using T = decltype(a);
    const T divisor = gcd_of(a, b);
    if (divisor == 0) return T{};
    const auto product = static_cast<uint64_t>(divide(a, divisor)) * static_cast<uint64_t>(b);
    using Wide = decltype(a * b);  // at least int, as PyTorch's and NumPy's
    return static_cast<T>(magnitude(static_cast<Wide>(product)));
  });
}

// Shifting by the width or more leaves no bit but the sign's; so does, in PyTorch, a negative
// count.
template <class V>
IfIntegers<V> left_shift(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) {
    using T = decltype(a);
    const auto count = static_cast<std::make_unsigned_t<T>>(b);
    return count < 8 * sizeof(T) ? static_cast<T>(static_cast<uint64_t>(a) << count) : T{};
  });
}
template <class V>
IfIntegers<V> right_shift(V x, V y) {
  return map_lanes(x, y, [](auto a, auto b) {
    using T = decltype(a);
    const auto count = static_cast<std::make_unsigned_t<T>>(b);
    const auto last = 8 * sizeof(T) - std::is_signed_v<T>;
    if (count > last) return std::is_signed_v<T> ? static_cast<T>(a >> last) : T{};
    return static_cast<T>(count == 8 * sizeof(T) ? 0 : a >> count);
  });
}

}  // namespace
}  // namespace tt::cpu
