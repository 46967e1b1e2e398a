// The points of linspace and logspace, rounded as PyTorch rounds them. The first half is counted
// from the start, the second from the end. One point is the first; of two halves that differ, the
// second is the longer one.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/dtypes/half.h"

namespace tt {
namespace {

// How many points are counted from the start, and how many steps there are.
TT_HOST_DEVICE inline int64_t first_half(int64_t count) { return count == 1 ? 1 : count / 2; }
inline int64_t steps(int64_t count) { return count > 1 ? count - 1 : 1; }

// from + step * i, rounded once but of halves, whose every operation rounds.
TT_HOST_DEVICE inline double point(double from, double step, int64_t i) {
  return ::fma(step, static_cast<double>(i), from);
}
TT_HOST_DEVICE inline float point(float from, float step, int64_t i) {
  return ::fmaf(step, static_cast<float>(i), from);
}
template <class T>
TT_HOST_DEVICE T point(T from, T step, int64_t i) {
  return T(float(from) + float(T(float(step) * float(T(static_cast<float>(i))))));
}

// linspace's, of the dtype T.
template <class T>
struct LinearPoints {
  using Step = std::conditional_t<std::is_integral_v<T>, double, T>;
  Step first, last, step, back;

  LinearPoints(int64_t count, double from, double to)
      : first(static_cast<Step>(from)), last(static_cast<Step>(to)) {
    const Step distance = static_cast<Step>(last - first);
    step = static_cast<Step>(distance / Step(steps(count)));
    back = static_cast<Step>(-step);
  }
  TT_HOST_DEVICE Step from_start(int64_t i) const { return point(first, step, i); }
  TT_HOST_DEVICE Step from_end(int64_t i) const { return point(last, back, i); }
};

// logspace's: the ends are rounded to a dtype.
struct Powers {
  double base, first, last, step;

  template <class T>
  Powers(T, int64_t count, double from, double to, double of)
      : base(of), first(static_cast<T>(from)), last(static_cast<T>(to)) {
    const double distance =
        std::is_integral_v<T> ? last - first : double(static_cast<T>(last - first));
    step = distance / static_cast<double>(steps(count));
  }
  TT_HOST_DEVICE double from_start(int64_t i) const {
    return ::pow(base, first + step * static_cast<double>(i));
  }
  TT_HOST_DEVICE double from_end(int64_t i) const {
    return ::pow(base, last - step * static_cast<double>(i));
  }
};

}  // namespace
}  // namespace tt
