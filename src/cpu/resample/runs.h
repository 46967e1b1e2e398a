// Numbers of a linear map, and runs of neighbouring elements.
#pragma once
#include "core/tables/resample.h"
#include "cpu/pool/lanes.h"
#include "cpu/vec/int_math.h"

namespace tt::cpu {
namespace {

template <class T>
inline T number(const void* numbers, int64_t i) {
  return numbers ? static_cast<const T*>(numbers)[i] : T(1);
}

// Integers are unsigned here, for sums that wrap around; a divisor and a quotient have a sign.
template <class T>
using Signed = std::conditional_t<std::is_same_v<T, uint64_t>, int64_t, T>;
template <class T>
inline T number(double x) {
  return T(Signed<T>(x));
}
template <class T>
inline T quotient(T x, T divisor) {
  if constexpr (std::is_integral_v<T>) return T(int_divide(Signed<T>(x), Signed<T>(divisor)));
  return x / divisor;
}

// `count` neighbours; the library's memcpy starts slowly at the size of a pixel or a row.
template <class T>
inline void copy_run(const T* from, int64_t count, T* to) {
  if constexpr (is_half_type<T>) {
    copy_run(reinterpret_cast<const uint16_t*>(from), count, reinterpret_cast<uint16_t*>(to));
  } else {
    constexpr int64_t n = lanes<T>;
    if (count < n) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
    for (int64_t i = 0; i + n <= count; i += n) store(to + i, load(from + i));
    store(to + count - n, load(from + count - n));
  }
}

template <class T>
inline void fill_run(T value, int64_t count, T* to) {
  constexpr int64_t n = lanes<T>;
  if (count < n) {
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  const Vec<T> v = splat(value);
  for (int64_t i = 0; i + n <= count; i += n) store(to + i, v);
  store(to + count - n, v);
}

}  // namespace
}  // namespace tt::cpu
