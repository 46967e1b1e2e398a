// What the kernels of CTC share: the sum of paths, and the places that they go through.
//
// The labels are spread out, l' = blank l1 blank l2 ... blank, of which a path may leave out blanks
// between different labels. alpha[t, s] is the log-probability of all paths that reach l'[s] at
// time t, beta[t, s] of all that go on from there.
//
// In an anonymous namespace, as core/formulas/special.h is.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/devices/host_device.h"
#include "core/tables/ctc.h"

namespace tt {
namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(e^a + e^b + e^c): the exponential of the largest, less itself, is 1 without computing it.
template <class T>
TT_HOST_DEVICE T log_add(T a, T b, T c = kNever<T>) {
  if (const T sum = a + b + c; sum != sum) return sum;  // NaN
  const T high = std::max(a, b), low = std::min(a, b);
  const T largest = std::max(high, c), middle = std::max(low, std::min(high, c));
  const T least = std::min(low, c);
  if (middle == kNever<T>) return largest;
  T sum = 1 + std::exp(middle - largest);
  if (least != kNever<T>) sum += std::exp(least - largest);
  return largest + std::log(sum);
}

// One of the batch.
template <class T>
struct Sequence {
  const T* x;
  int64_t time_step, class_step, times, places;
  const int64_t* labels;
  int64_t blank, classes;

  TT_HOST_DEVICE Sequence(const CtcArgs& a, int64_t b)
      : x(reinterpret_cast<const T*>(a.x) + b * a.batch_step),
        time_step(a.time_step),
        class_step(a.class_step),
        times(a.input_lengths[b]),
        places(2 * a.target_lengths[b] + 1),
        labels(a.targets + a.starts[b]),
        blank(a.blank),
        classes(a.classes) {}

  // One outside, for which a GPU throws only later, is the blank.
  TT_HOST_DEVICE int64_t label(int64_t place) const {
    const int64_t own = place % 2 ? labels[place / 2] : blank;
    return own >= 0 && own < classes ? own : blank;
  }
  TT_HOST_DEVICE T at(int64_t t, int64_t c) const { return x[t * time_step + c * class_step]; }
  // Whether a path may go from place - 2 to place.
  TT_HOST_DEVICE bool skips(int64_t place) const {
    return place > 1 && label(place) != label(place - 2);
  }

  // The paths to a place, of those to the places at the time before; and from it on, of those
  // after.
  TT_HOST_DEVICE T paths_to(int64_t s, const T* before) const {
    return log_add(before[s], s > 0 ? before[s - 1] : kNever<T>,
                   skips(s) ? before[s - 2] : kNever<T>);
  }
  TT_HOST_DEVICE T paths_from(int64_t s, const T* after) const {
    return log_add(after[s], s + 1 < places ? after[s + 1] : kNever<T>,
                   s + 2 < places && skips(s + 2) ? after[s + 2] : kNever<T>);
  }
  // The loss, of the paths to the places at the last time.
  TT_HOST_DEVICE T loss(const T* alpha) const {
    return -log_add(alpha[places - 1], places > 1 ? alpha[places - 2] : kNever<T>);
  }
  // The gradient at x[t, c], of the paths through the places that have this class.
  TT_HOST_DEVICE T gradient(int64_t t, int64_t c, T paths, T loss, T grad) const {
    const T x = at(t, c);
    T dx = std::exp(x) * grad;
    if (paths != kNever<T> || x == kNever<T> || !(std::fabs(loss) < -kNever<T>))
      dx -= std::exp(paths + loss - x) * grad;
    return dx;
  }
};

}  // namespace
}  // namespace tt
