// Where an array lies in memory.
#pragma once
#include <utility>

#include "core/ndarray.h"

namespace tt {

// [first, last) byte addresses that the array may touch.
inline std::pair<const char*, const char*> extent(const NDArray& array) {
  int64_t reach = 0;
  for (int i = 0; i < array.ndim(); ++i) reach += (array.shape()[i] - 1) * array.strides()[i];
  return {array.data(), array.data() + (reach + 1) * itemsize(array.dtype())};
}

}  // namespace tt
