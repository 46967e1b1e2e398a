// ops.def as structs: the op's expression over V, a vector of elements or one element.
//
// Included inside a kernel file's own anonymous namespace (Note [No weak symbols]), after <limits>,
// <type_traits>, core/formulas/wrapping.h and a header that defines select(mask, x, y),
// broadcast<V>(element) and the mathematical functions of V: exp, log, floor, ...

template <class V, class = void>
struct ElementOf {
  using type = V;
};
template <class V>
struct ElementOf<V, std::enable_if_t<!std::is_arithmetic_v<V>>> {
  using type = std::decay_t<decltype(V{}[0])>;
};
template <class V>
using Element = typename ElementOf<V>::type;
template <class V>
constexpr bool is_float = std::is_floating_point_v<Element<V>>;

template <class V>
TT_HOST_DEVICE V one() {
  return broadcast<V>(Element<V>(1));
}
template <class V>
TT_HOST_DEVICE V lowest() {
  using Limits = std::numeric_limits<Element<V>>;
  return broadcast<V>(Element<V>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest()));
}
template <class V>
TT_HOST_DEVICE V highest() {
  using Limits = std::numeric_limits<Element<V>>;
  return broadcast<V>(Element<V>(Limits::has_infinity ? Limits::infinity() : Limits::max()));
}

template <class V>
TT_HOST_DEVICE V constant(double value) {
  return broadcast<V>(static_cast<Element<V>>(value));
}

template <class V>
TT_HOST_DEVICE auto is_infinite(V x) {
  if constexpr (is_float<V>)
    return abs(x) == highest<V>();
  else
    return x != x;
}
template <class V>
TT_HOST_DEVICE auto is_finite(V x) {
  if constexpr (is_float<V>)
    return abs(x) < highest<V>();
  else
    return x == x;
}
// -0 has it, too.
template <class V>
TT_HOST_DEVICE auto has_sign(V x) {
  if constexpr (is_float<V>)
    return sign_bit(x) != 0;
  else
    return x < V{};
}

// NaN wins.
template <class V>
TT_HOST_DEVICE V maximum(V x, V y) {
  return (x > y) | (x != x) ? x : y;
}
template <class V>
TT_HOST_DEVICE V minimum(V x, V y) {
  return (x < y) | (x != x) ? x : y;
}
// NaN loses.
template <class V>
TT_HOST_DEVICE V fmax(V x, V y) {
  return (x >= y) | (y != y) ? x : y;
}
template <class V>
TT_HOST_DEVICE V fmin(V x, V y) {
  return (x <= y) | (y != y) ? x : y;
}
template <class V>
TT_HOST_DEVICE V sign(V x) {
  return select(x > V{}, one<V>(), V{}) - select(x < V{}, one<V>(), V{});
}
// Scaled by the larger of the two, so that no square overflows.
template <class V>
TT_HOST_DEVICE V hypot(V x, V y) {
  const V zero{}, inf = highest<V>(), a = abs(x), b = abs(y);
  const V larger = maximum(a, b), ratio = minimum(a, b) / larger;
  const V length = larger * sqrt(one<V>() + ratio * ratio);
  return select((a == inf) | (b == inf), inf, select(larger == zero, zero, length));
}
// Symmetric around 1/2, so that lerp(x, y, 1) is y (as PyTorch's).
template <class V>
TT_HOST_DEVICE V lerp(V x, V y, V weight) {
  const V magnitude = select(weight < V{}, -weight, weight);
  return select(magnitude < one<V>() / 2, x + weight * (y - x), y - (y - x) * (one<V>() - weight));
}

// Python's x // y: the floor of the exact quotient. Rounded first, x / y may reach the next
// integer.
template <class V>
TT_HOST_DEVICE std::enable_if_t<is_float<V>, V> floor_divide(V x, V y) {
  const V zero{}, quotient = x / y, rest = fmod(x, y);
  const V exact =
      (x - rest) / y - select((rest != zero) & ((y < zero) != (rest < zero)), one<V>(), zero);
  const V down = floor(exact);
  const V nearest = select(exact - down > one<V>() / 2, down + one<V>(), down);
  return select(y == zero, quotient, select(exact == zero, quotient * zero, nearest));
}

// div(rounding_mode="trunc"), as PyTorch rounds it.
template <class V>
TT_HOST_DEVICE std::enable_if_t<is_float<V>, V> trunc_divide(V x, V y) {
  return trunc(x / y);
}

// Python's %: the result has the divisor's sign.
template <class V>
TT_HOST_DEVICE std::enable_if_t<is_float<V>, V> remainder(V x, V y) {
  const V rest = fmod(x, y);
  return select((rest != V{}) & ((y < V{}) != (rest < V{})), rest + y, rest);
}

// ln(e^x + e^y) = x + ln(1 + e^(y - x)) for x >= y; equal infinities have no difference.
template <class V>
TT_HOST_DEVICE V logaddexp(V x, V y) {
  const V rest = log1p_to_one(exp(-abs(x - y)));
  return select(x == y, x + constant<V>(0.69314718055994531), maximum(x, y) + rest);
}
template <class V>
TT_HOST_DEVICE V logaddexp2(V x, V y) {
  const V rest = log1p_to_one(exp2(-abs(x - y))) * constant<V>(1.4426950408889634);
  return select(x == y, x + one<V>(), maximum(x, y) + rest);
}

// 0 ln y is 0, unless y is NaN.
template <class V>
TT_HOST_DEVICE V xlogy(V x, V y) {
  return select((x == V{}) & (y == y), V{}, x * log(y));
}

// The neighbour of x towards y, among the numbers of a dtype with these limits: V is wider than a
// half. Every step is exact, and beyond `largest` conversion gives inf.
template <class V>
TT_HOST_DEVICE V nextafter(V x, V y, V largest, V smallest) {
  const V zero{}, half = one<V>() / 2, size = abs(x);
  const auto parts = frexp(size);
  // eps is 2 (1 - mantissa(largest)). Below a power of two the neighbours are half as far apart.
  const auto inward = (y > x) != (x > zero);
  const V power = parts.exponent - select(inward & (parts.mantissa == half), one<V>(), zero);
  const V gap = maximum(scalbn(one<V>() - frexp(largest).mantissa, power), smallest);
  const V next = select(inward, size - gap, size + gap);
  const V moved = select(x == zero, smallest, select(size == highest<V>(), largest, next));
  const V signed_next = copysign(moved, select(x == zero, y, x));
  return select((x != x) | (y != y), x + y, select(x == y, y, signed_next));
}

// sin(pi x) / (pi x), with pi x rounded, as PyTorch has it.
template <class V>
TT_HOST_DEVICE V sinc(V x) {
  const V angle = x * constant<V>(3.14159265358979323846);
  return select(x == V{}, one<V>(), sin(angle) / angle);
}

// ln(x / (1 - x)); x is first kept within [eps, 1 - eps], if eps is not negative.
template <class V>
TT_HOST_DEVICE V logit(V x, V eps) {
  const V high = one<V>() - eps, inside = select(x < eps, eps, select(x > high, high, x));
  const V z = select(eps < V{}, x, inside);
  return log(z / (one<V>() - z));
}

#include "core/formulas/activations.h"
#include "core/formulas/losses.h"

#define TT_FUNCTOR(Answer, name, expr, ...)           \
  struct name##_op {                                  \
    template <class V>                                \
    TT_HOST_DEVICE static Answer apply(__VA_ARGS__) { \
      return expr;                                    \
    }                                                 \
  };
#define UNARY(name, result, dtypes, domain, expr) TT_FUNCTOR(V, name, expr, V x)
#define TEST(name, dtypes, expr) TT_FUNCTOR(auto, name, expr, V x)
#define BINARY(name, result, dtypes, domain, expr) TT_FUNCTOR(V, name, expr, V x, V y)
#define COMPARE(name, dtypes, expr) TT_FUNCTOR(auto, name, expr, V x, V y)
#define TERNARY(name, result, dtypes, domain, expr) TT_FUNCTOR(V, name, expr, V x, V y, V z)
#define QUATERNARY(name, result, dtypes, domain, expr) TT_FUNCTOR(V, name, expr, V x, V y, V z, V w)
#define REDUCE(name, result, dtypes, empty, initial, step_expr, combine_expr, finish_expr) \
  struct name##_op {                                                                       \
    template <class V>                                                                     \
    TT_HOST_DEVICE static V init() {                                                       \
      return initial;                                                                      \
    }                                                                                      \
    template <class V>                                                                     \
    TT_HOST_DEVICE static V step(V s, V x) {                                               \
      return step_expr;                                                                    \
    }                                                                                      \
    template <class V>                                                                     \
    TT_HOST_DEVICE static V combine(V s, V t) {                                            \
      return combine_expr;                                                                 \
    }                                                                                      \
    template <class T>                                                                     \
    TT_HOST_DEVICE static T finish(T s, [[maybe_unused]] T n) {                            \
      return finish_expr;                                                                  \
    }                                                                                      \
  };
#include "core/ops.def"
#undef TT_FUNCTOR

// No ops of ops.def: their calls are not of its kinds.
struct where_op {
  template <class V>
  TT_HOST_DEVICE static V apply(V condition, V x, V y) {
    return select(condition != V{}, x, y);
  }
};
struct nan_to_num_op {
  template <class V>
  TT_HOST_DEVICE static V apply(V x, V nan, V posinf, V neginf) {
    if constexpr (is_float<V>) {
      const V number = select(x != x, nan, x);
      return select(is_infinite(x), select(x > V{}, posinf, neginf), number);
    }
    return x;
  }
};
