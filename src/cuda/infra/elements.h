// How a thread reads and writes an element of any dtype.
#pragma once
#include "core/dtypes/converted.h"
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

// Memory of a table's struct as the Ts that it holds.
template <class T>
TT_HOST_DEVICE T* numbers(const char* data) {
  return reinterpret_cast<T*>(const_cast<char*>(data));
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
  if (dtype == dtype_of<T>()) return read<T>(from);  // as most are: no jump
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

__device__ inline void copy_element(char* to, const char* from, DType dtype) {
  switch (dtype) {
#define X(name, type, text, category)                \
  case DType::name:                                  \
    *reinterpret_cast<type*>(to) = read<type>(from); \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

}  // namespace
}  // namespace tt::cuda
