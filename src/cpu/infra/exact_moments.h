// Mean and variance in double, for what overflows or vanishes in float. Built once per instruction
// set; slow, and rarely called.
#pragma once
#include <cstdint>

#include "core/formulas/float_range.h"

namespace tt::cpu {
namespace {

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
  const double mean = near - near == 0 ? near + rest / count : near;  // inf has no rest
  return {mean, (squares - rest * (rest / count)) / count};
}

}  // namespace
}  // namespace tt::cpu
