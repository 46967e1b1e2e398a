// Where an array lies in memory.
#pragma once
#include <utility>

#include "core/error.h"
#include "core/ndarray.h"

namespace tt {

// [first, last) byte addresses that the array may touch.
inline std::pair<const char*, const char*> extent(const NDArray& array) {
  int64_t reach = 0;
  for (int i = 0; i < array.ndim(); ++i) reach += (array.shape()[i] - 1) * array.strides()[i];
  return {array.data(), array.data() + (reach + 1) * itemsize(array.dtype())};
}

// How the elements of two arrays share memory: not at all, all of them in the same order, or some
// of two blocks without gaps. Nothing is known of arrays with gaps whose extents meet.
enum class Overlap { None, Same, Some, Unknown };
inline Overlap overlap_of(const NDArray& x, const NDArray& y) {
  if (!(x.storage() == y.storage()) || x.numel() == 0 || y.numel() == 0) return Overlap::None;
  const auto [x_first, x_last] = extent(x);
  const auto [y_first, y_last] = extent(y);
  if (x_last <= y_first || y_last <= x_first) return Overlap::None;
  if (x.data() == y.data() && x.shape() == y.shape() && x.strides() == y.strides() &&
      x.dtype() == y.dtype())
    return Overlap::Same;
  return x.is_dense() && y.is_dense() ? Overlap::Some : Overlap::Unknown;
}

[[noreturn]] inline void throw_overlap() {
  throw RuntimeError(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
      "a single memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace tt
