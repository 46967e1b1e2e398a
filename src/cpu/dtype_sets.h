// ops.def's sets of dtypes. Included by kernel files, hence the anonymous namespace.
#pragma once
#include <limits>
#include <type_traits>

namespace tt::cpu {
namespace {

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
