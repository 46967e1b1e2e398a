// ops.def's sets of dtypes. Included by kernel files, hence the anonymous namespace.
#pragma once
#include <limits>
#include <type_traits>

#include "core/dtype.h"

namespace tt::cpu {
namespace {

// Has kernels of its own; the half types are converted to one that has.
template <class T>
constexpr bool is_native = !is_half_type<T>;

struct All {
  template <class T>
  static constexpr bool has = true;
};
struct Number {
  template <class T>
  static constexpr bool has = !std::is_same_v<T, bool>;
};
struct Integral {
  template <class T>
  static constexpr bool has = std::is_integral_v<T>;
};
struct Float {
  template <class T>
  static constexpr bool has = std::is_floating_point_v<T>;
};

}  // namespace
}  // namespace tt::cpu
