// Where an element lies among the bins of a histogram.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include <cstdint>

#include "core/devices/host_device.h"

namespace tt {
namespace {

template <class T>
struct Bins {
  const T *edges, *last;  // the first edge, and the last one
  bool uniform, exact;

  // The bin, or -1 outside.
  TT_HOST_DEVICE int64_t operator()(T value) const {
    const T left = *edges, right = *last;
    if (!(value >= left && value <= right)) return -1;
    const int64_t count = last - edges;
    int64_t first = 0, n = count + 1;  // of the edges to search
    if (uniform) {
      // Overflow, and bins without a width, end in the last one.
      const T position = (value - left) * static_cast<T>(count) / (right - left);
      const int64_t guess =
          position < static_cast<T>(count) ? static_cast<int64_t>(position) : count - 1;
      if (!exact) return guess;
      first = guess > 1 ? guess - 1 : 0;
      n = (guess + 2 < count + 1 ? guess + 2 : count + 1) - first;
    }
    while (n > 0) {  // the first edge above the value
      const int64_t half = n / 2;
      if (value < edges[first + half]) {
        n = half;
      } else {
        first += half + 1;
        n -= half + 1;
      }
    }
    return first - 1 < count - 1 ? first - 1 : count - 1;
  }
};

}  // namespace
}  // namespace tt
