// The integers that a draw of a dtype may be.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtypes/dtype.h"

namespace tt {

// The bits of a float's mantissa, the leading one included.
template <class T>
constexpr int kDigits = std::is_same_v<T, Half>       ? 11
                        : std::is_same_v<T, BFloat16> ? 8
                                                      : std::numeric_limits<T>::digits;

// The largest integer that a dtype is asked to hold: floats count as far as they hold each one.
template <class T>
constexpr int64_t largest() {
  if constexpr (is_float_type<T>)
    return int64_t{1} << kDigits<T>;
  else
    return static_cast<int64_t>(std::numeric_limits<T>::max());
}

}  // namespace tt
