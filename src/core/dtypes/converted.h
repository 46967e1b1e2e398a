// One dtype's value as another's.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include <limits>

#include "core/dtypes/dtype.h"

namespace tt {
namespace {

template <class To, class From>
TT_HOST_DEVICE To converted(From value) {
  if constexpr (is_half_type<From>)
    return converted<To>(static_cast<float>(value));
  else if constexpr (is_half_type<To>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Through an integer that holds more, as PyTorch. C++ leaves undefined what does not fit into
    // that, or is NaN: the processor's answer is the lowest.
    using Wide = std::conditional_t<sizeof(To) == 8 || std::is_unsigned_v<To>, int64_t, int32_t>;
    constexpr Wide lowest = std::numeric_limits<Wide>::min();
    constexpr From end = -static_cast<From>(lowest);
    return static_cast<To>(value >= -end && value < end ? static_cast<Wide>(value) : lowest);
  } else
    return static_cast<To>(value);
}

}  // namespace
}  // namespace tt
