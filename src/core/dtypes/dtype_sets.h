// ops.def's sets of dtypes. Included by kernel files, hence the anonymous namespace.
#pragma once
#include <limits>
#include <type_traits>

#include "core/dtypes/dtype.h"

namespace tt {
namespace {

// Has kernels of its own; the half types are converted to one that has.
template <class T>
constexpr bool is_native = !is_half_type<T>;

// Which kernels are built per instruction set; the others are built once, for the baseline.
struct FastFloats {
  template <class T>
  static constexpr bool fast = std::is_floating_point_v<T>;
};
struct All : FastFloats {
  template <class T>
  static constexpr bool has = true;
};
struct Number : FastFloats {
  template <class T>
  static constexpr bool has = !std::is_same_v<T, bool>;
};
struct Integral : FastFloats {
  template <class T>
  static constexpr bool has = std::is_integral_v<T>;
};
struct Float : FastFloats {
  template <class T>
  static constexpr bool has = std::is_floating_point_v<T>;
};
struct Integer : FastFloats {
  template <class T>
  static constexpr bool has = std::is_integral_v<T> && !std::is_same_v<T, bool>;
};
struct Rare : Float {
  template <class T>
  static constexpr bool fast = std::is_same_v<T, float>;
};

}  // namespace
}  // namespace tt
