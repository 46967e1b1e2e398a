// Mean and variance in double, for what overflows or vanishes in float. Built once per instruction
// set; slow, and rarely called.
#pragma once
#include <cstdint>

#include "core/float_range.h"

namespace tt::cpu {
namespace {

// Whether a variance in float may be far from the true one.
inline bool is_out_of_range(double variance) {
  return !(variance > 0x1p-90 && variance < 0x1p+110);
}

struct ExactMoments {
  double mean = 0, variance = 0;
};

// each(f) calls f(element) for `n` elements, twice; without `centered` the mean is taken to be 0.
template <class Each>
ExactMoments exact_moments(int64_t n, bool centered, const Each& each) {
  const double count = static_cast<double>(n);
  double sum = 0, rest = 0, squares = 0;
  if (centered) each([&](double x) { sum += x; });
  const double near = sum / count;
  each([&](double x) {
    const double distance = x - near;
    rest += distance, squares += distance * distance;
  });
  if (!centered) return {0, squares / count};
  return {near + rest / count, (squares - rest * (rest / count)) / count};
}

}  // namespace
}  // namespace tt::cpu
