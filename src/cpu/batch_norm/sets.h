// What the two layouts of batch norm share: sets of elements with one mean
// (core/tables/batch_norm.h). Built once per instruction set.
#pragma once
#include "cpu/batch_norm/running_stats.h"
#include "cpu/infra/exact_moments.h"
#include "cpu/infra/line_views.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"

namespace tt::cpu {
namespace {

constexpr int64_t kBlock = 8192;

// What both layouts share: how channels make sets. x, its gradient and what is written are of S.
template <class S>
struct Call {
  using T = Computed<S>;
  const BatchNormArgs& a;
  const bool per_channel = a.set_channels == 0;  // batch norm
  const int64_t together = per_channel ? 1 : a.set_channels;
  const int64_t sets_of_sample = a.channels / together;
  const int64_t sets = per_channel ? a.channels : a.samples * sets_of_sample;
  const int64_t elements = (per_channel ? a.samples : together) * a.size;  // of a set
  const T *weights = numbers<T>(a.weight), *biases = numbers<T>(a.bias);
  T *means = numbers<T>(a.mean), *rests = numbers<T>(a.rest), *rstds = numbers<T>(a.rstd);

  T weight(int64_t channel) const { return weights ? weights[channel] : T(1); }
  // The true mean less that of `means`, which T has rounded.
  T rest(int64_t set) const { return rests ? rests[set] : T(0); }
  // Of an element less the set's mean, times `scale`.
  T shift(int64_t channel, int64_t set, T scale) const {
    return (biases ? biases[channel] : T(0)) - rest(set) * scale;
  }
  void finish(int64_t set, double mean, double squares) const {
    double variance = squares / static_cast<double>(elements);
    if (is_out_of_range(variance + a.eps)) {
      const ExactMoments exact =
          exact_moments(elements, true, [&](auto f) { for_each_element_of(set, f); });
      mean = exact.mean, variance = exact.variance;
    }
    means[set] = static_cast<T>(mean);
    rests[set] = static_cast<T>(mean - static_cast<double>(means[set]));
    rstds[set] = static_cast<T>(1 / __builtin_sqrt(variance + a.eps));
    if (a.variance) numbers<double>(a.variance)[set] = variance;
  }

 private:
  template <class F>
  void for_each_element_of(int64_t set, F f) const {
    const int64_t first = per_channel ? set : set % sets_of_sample * together;
    const int64_t sample = per_channel ? 0 : set / sets_of_sample;
    for (int64_t n = sample; n < (per_channel ? a.samples : sample + 1); ++n)
      for (int64_t c = first; c < first + together; ++c)
        for (int64_t i = 0; i < a.size; ++i)
          f(static_cast<double>(static_cast<T>(
              numbers<S>(a.x)[a.channels_last ? (n * a.size + i) * a.channels + c
                                              : n * a.x_sample + c * a.x_channel + i])));
  }
};

// Sums of grad, and of grad x', where x' = (x - mean) rstd, which is in range where a power of rstd
// is not.
struct GradientSums {
  double sum = 0, moment = 0;

  void add(double weight, const GradientSums& other) {
    sum += weight * other.sum, moment += weight * other.moment;
  }
  // Those of the true mean.
  template <class S>
  GradientSums centred(const Call<S>& call, int64_t set) const {
    return {sum, moment - static_cast<double>(call.rest(set) * call.rstds[set]) * sum};
  }
};

// dx = grad factor - (x - mean) rstd slope - middle.
template <class T>
struct Coefficients {
  T factor, slope = 0, middle = 0;

  // From a set's sums of weight grad.
  template <class S>
  Coefficients(const Call<S>& call, int64_t set, T weight, const GradientSums& sums)
      : factor(weight * call.rstds[set]) {
    if (call.a.fixed) return;
    const double share = static_cast<double>(call.rstds[set]) / static_cast<double>(call.elements);
    slope = static_cast<T>(sums.moment * share);
    middle = static_cast<T>(sums.sum * share) - call.rest(set) * call.rstds[set] * slope;
  }
};

}  // namespace
}  // namespace tt::cpu
