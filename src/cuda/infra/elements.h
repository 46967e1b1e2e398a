// How a thread reads and writes an element of any dtype.
#pragma once
#include "core/dtype.h"
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

// Memory of a table's struct as the Ts that it holds.
template <class T>
TT_HOST_DEVICE T* numbers(const char* data) {
  return reinterpret_cast<T*>(const_cast<char*>(data));
}

// One dtype's value as another's. An integer that does not hold a float takes the lowest one of a
// wider type, as on the CPU.
template <class To, class From>
__device__ To converted(From value) {
  if constexpr (is_half_type<From>)
    return converted<To>(static_cast<float>(value));
  else if constexpr (is_half_type<To>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide = std::conditional_t<sizeof(To) == 8 || std::is_unsigned_v<To>, int64_t, int32_t>;
    constexpr Wide lowest =
        sizeof(Wide) == 8 ? static_cast<Wide>(INT64_MIN) : static_cast<Wide>(INT32_MIN);
    constexpr From end = -static_cast<From>(lowest);
    return static_cast<To>(value >= -end && value < end ? static_cast<Wide>(value) : lowest);
  } else
    return static_cast<To>(value);
}

// A bool may hold any byte: it is true if not 0.
template <class T>
__device__ T read(const char* from) {
  if constexpr (std::is_same_v<T, bool>)
    return *from != 0;
  else
    return *reinterpret_cast<const T*>(from);
}

template <class T>
__device__ T load_as(const char* from, DType dtype) {
  switch (dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return converted<T>(read<type>(from));
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
  return T{};
}
template <class T>
__device__ void store_as(char* to, DType dtype, T value) {
  switch (dtype) {
#define X(name, type, text, category)                      \
  case DType::name:                                        \
    *reinterpret_cast<type*>(to) = converted<type>(value); \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

}  // namespace
}  // namespace tt::cuda
