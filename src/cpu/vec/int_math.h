// ops.def's vocabulary for vectors of integers: core/formulas/int_math.h on each lane.
#pragma once
#include "core/formulas/int_math.h"
#include "core/formulas/wrapping.h"
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
  return by_doubles(x, y, down, [](auto a, auto b) { return int_floor_divide(a, b); });
}
template <class V>
IfIntegers<V> remainder(V x, V y) {
  const auto rest = [](auto a, auto b, auto q) { return a - floor(q) * b; };
  return by_doubles(x, y, rest, [](auto a, auto b) { return int_remainder(a, b); });
}

#define TT_EACH_INTEGER(name, function)                                    \
  template <class V>                                                       \
  IfIntegers<V> name(V x, V y) {                                           \
    return map_lanes(x, y, [](auto a, auto b) { return function(a, b); }); \
  }
TT_EACH_INTEGER(trunc_divide, int_divide)
TT_EACH_INTEGER(fmod, int_modulo)
TT_EACH_INTEGER(pow, int_pow)
TT_EACH_INTEGER(gcd, int_gcd)
TT_EACH_INTEGER(lcm, int_lcm)
TT_EACH_INTEGER(left_shift, int_left_shift)
TT_EACH_INTEGER(right_shift, int_right_shift)
#undef TT_EACH_INTEGER

}  // namespace
}  // namespace tt::cpu
