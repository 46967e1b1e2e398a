// Elements as keys to sort by: unsigned integers. NaN has the largest, and -0 that of 0.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include "core/dtypes/dtype.h"

namespace tt {
namespace {

// The largest key: of floating point elements NaN's, and only that.
template <class Key>
constexpr Key kLargestKey = static_cast<Key>(-1);

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 8, uint64_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t,
                                          std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

// As bits; above are NaN.
template <class T>
constexpr auto kInfinity =
    static_cast<std::make_signed_t<Bits<T>>>(std::is_same_v<T, double>  ? 0x7ff0000000000000
                                             : std::is_same_v<T, float> ? 0x7f800000
                                             : std::is_same_v<T, Half>  ? 0x7c00
                                                                        : 0x7f80);

// a < b means key_of(a) < key_of(b).
template <class Key, class T>
TT_HOST_DEVICE Key key_of(T value) {
  constexpr Bits<T> sign = static_cast<Bits<T>>(Bits<T>(1) << (8 * sizeof(T) - 1));
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  if constexpr (is_float_type<T>) {  // a sign and a magnitude: their sum, so that -0 is 0
    using Signed = std::make_signed_t<Bits<T>>;
    const Signed magnitude = static_cast<Signed>(bits & ~sign);
    const Key number = static_cast<Bits<T>>(bits & sign ? sign - magnitude : sign + magnitude);
    return magnitude > kInfinity<T> ? kLargestKey<Key> : number;
  } else {
    return std::is_signed_v<T> ? static_cast<Bits<T>>(bits ^ sign) : bits;
  }
}

// Calls body(Key{}) with the type of a dtype's keys.
template <class Body>
void with_key(DType dtype, Body&& body) {
  itemsize(dtype) == 8 ? body(uint64_t{}) : body(uint32_t{});
}

}  // namespace
}  // namespace tt
