// From a dtype to code for its C++ type, and from the size of an element to code that moves such.
#pragma once
#include <type_traits>

#include "core/dtypes/dtype.h"

namespace tt {

// Calls body(T{}) with the dtype's C++ type.
template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    body(type{});                     \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

// The same where that is a floating-point type; of another dtype nothing is called.
template <class Body>
void with_float_type(DType dtype, Body&& body) {
  with_type(dtype, [&](auto type) {
    if constexpr (is_float_type<decltype(type)>) body(type);
  });
}

// Calls body(T{}) with an unsigned integer as wide as an element: enough to move it.
template <class Body>
void with_size(int64_t size, Body&& body) {
  switch (size) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

// What a T is computed in: halves are floats meanwhile.
template <class T>
using Computed = std::conditional_t<is_half_type<T>, float, T>;

}  // namespace tt
