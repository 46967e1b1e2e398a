// Where an array lies in memory.
#pragma once
#include <utility>

#include "core/error.h"
#include "core/ndarray.h"

namespace tt {

// Elements from the first to behind the last.
inline int64_t reach_of(const NDArray& array) {
  int64_t reach = 1;
  for (int i = 0; i < array.ndim(); ++i) reach += (array.shape()[i] - 1) * array.strides()[i];
  return reach;
}

// [first, last) byte addresses that the array may touch.
inline std::pair<const char*, const char*> extent(const NDArray& array) {
  return {array.data(), array.data() + reach_of(array) * itemsize(array.dtype())};
}

// Whether the elements of one may lie where some of the other's do.
inline bool overlaps(const NDArray& x, const NDArray& y) {
  if (x.numel() == 0 || y.numel() == 0) return false;
  const auto [x_first, x_last] = extent(x);
  const auto [y_first, y_last] = extent(y);
  return x_first < y_last && y_first < x_last;
}

// Whether two arrays are the same elements, in the same order.
inline bool same_elements(const NDArray& x, const NDArray& y) {
  return x.data() == y.data() && x.dtype() == y.dtype() && x.shape() == y.shape() &&
         x.strides() == y.strides();
}

// How the elements of two arrays share memory: not at all, all of them in the same order, or some
// of two blocks without gaps. Nothing is known of arrays with gaps whose extents meet.
enum class Overlap { None, Same, Some, Unknown };
inline Overlap overlap_of(const NDArray& x, const NDArray& y) {
  if (!(x.storage() == y.storage()) || !overlaps(x, y)) return Overlap::None;
  if (same_elements(x, y)) return Overlap::Same;
  return x.is_dense() && y.is_dense() ? Overlap::Some : Overlap::Unknown;
}

[[noreturn]] inline void throw_overlap() {
  throw RuntimeError(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
      "a single memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace tt
