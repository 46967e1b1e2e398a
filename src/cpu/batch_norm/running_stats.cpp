// Batch norm's running mean and variance, moved towards those of the batch, which batch_norm.cpp
// has found in the same call (core/api/nn/batch_norm.cpp). They are few: compiled once.
#include "cpu/batch_norm/running_stats.h"

#include <cmath>

#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"

namespace tt::cpu {

namespace {

// body(T{}, C{}) with the types of the running statistics and of the sets'.
template <class Body>
void with_types(DType running, DType compute, const Body& body) {
  with_type(running, [&](auto type) {
    compute == DType::Float32 ? body(type, float{}) : body(type, double{});
  });
}

template <class T>
char* place(const RunningArgs::Running& running, int64_t channel) {
  return running.data + channel * running.step * static_cast<int64_t>(sizeof(T));
}

// running = (1 - momentum) running + momentum batch, where batch is the mean over samples of what
// each has found, `sets` (samples, channels), times `numerator` / `denominator`.
template <class T, class S>
void update(const RunningArgs& a, const RunningArgs::Running& running, const S* sets,
            double numerator, double denominator) {
  for (int64_t c = 0; c < a.channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < a.samples; ++i) sum += static_cast<double>(sets[i * a.channels + c]);
    const double batch = sum / static_cast<double>(a.samples) * numerator / denominator;
    char* const at = place<T>(running, c);
    const double before = static_cast<double>(read<T>(at));
    write(at, Scalar::of_double((1 - a.momentum) * before + a.momentum * batch).to<T>());
  }
}

}  // namespace

void running_update(const RunningArgs& a) {
  if (a.running_mean.data)
    with_types(a.running_mean.dtype, a.compute, [&](auto type, auto wide) {
      using S = decltype(wide);
      update<decltype(type)>(a, a.running_mean, reinterpret_cast<const S*>(a.mean), 1, 1);
    });
  if (a.running_var.data)
    with_type(a.running_var.dtype, [&](auto type) {
      update<decltype(type)>(a, a.running_var, reinterpret_cast<const double*>(a.variance),
                             a.elements, a.elements - 1);
    });
}

void running_read(const RunningArgs& a) {
  const auto take = [&](const RunningArgs::Running& running, char* to, auto&& of) {
    with_types(running.dtype, a.compute, [&](auto type, auto wide) {
      using T = decltype(type);
      using S = decltype(wide);
      for (int64_t c = 0; c < a.channels; ++c)
        reinterpret_cast<S*>(to)[c] =
            static_cast<S>(of(static_cast<double>(read<T>(place<T>(running, c)))));
    });
  };
  take(a.running_mean, a.mean, [](double mean) { return mean; });
  take(a.running_var, a.rstd, [&](double var) { return 1 / std::sqrt(var + a.eps); });
}

}  // namespace tt::cpu
