// Sums, differences and products of elements, or of vectors of them, of which integers wrap around:
// C++ leaves it undefined what a signed one overflows to, so integers meet as unsigned ones.
//
// In an anonymous namespace, because files built per instruction set include it (Note [No weak
// symbols]).
#pragma once
#include <type_traits>

#include "core/devices/host_device.h"

namespace tt {
namespace {

// The type to add and multiply in; floats have their own.
template <class V, class = void>
struct WrappingOf {
  using type = V;
};
template <class T>
struct WrappingOf<T, std::enable_if_t<std::is_integral_v<T>>> {
  using type = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // smaller ones become int
};
template <class V>
struct WrappingOf<V, std::enable_if_t<std::is_integral_v<std::decay_t<decltype(V{}[0])>>>> {
  typedef std::make_unsigned_t<std::decay_t<decltype(V{}[0])>> type
      __attribute__((vector_size(sizeof(V))));
};
template <class V>
using Wrapping = typename WrappingOf<V>::type;

template <class V>
TT_HOST_DEVICE inline V wrapping_neg(V x) {
  return (V)(-(Wrapping<V>)x);
}
template <class V>
TT_HOST_DEVICE inline V wrapping_add(V x, V y) {
  return (V)((Wrapping<V>)x + (Wrapping<V>)y);
}
template <class V>
TT_HOST_DEVICE inline V wrapping_sub(V x, V y) {
  return (V)((Wrapping<V>)x - (Wrapping<V>)y);
}
template <class V>
TT_HOST_DEVICE inline V wrapping_mul(V x, V y) {
  return (V)((Wrapping<V>)x * (Wrapping<V>)y);
}

}  // namespace
}  // namespace tt
