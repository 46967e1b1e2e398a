// arange, linspace and logspace: one element per thread.
#include <type_traits>

#include "core/tables/creation.h"
#include "core/with_type.h"
#include "core/wrapping.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

template <class T>
__global__ void floats(T* out, const int64_t count, const double start, const double step) {
  const int64_t i = thread_index();
  if (i < count) out[i] = converted<T>(start + step * static_cast<double>(i));
}
template <class T>
__global__ void ints(T* out, const int64_t count, const int64_t start, const int64_t step) {
  const int64_t i = thread_index();
  if (i < count) out[i] = converted<T>(wrapping_add(start, wrapping_mul(step, i)));
}

void of_floats(void* out, DType dtype, int64_t count, double start, double step) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch<floats<T>>(grid_of(count), static_cast<T*>(out), count, start, step);
  });
}
void of_ints(void* out, DType dtype, int64_t count, int64_t start, int64_t step) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch<ints<T>>(grid_of(count), static_cast<T*>(out), count, start, step);
  });
}

// from + step * i, rounded once but of halves, whose every operation rounds, as in PyTorch.
template <class Step>
__device__ Step point(Step from, Step step, int64_t i) {
  if constexpr (std::is_same_v<Step, double>)
    return ::fma(step, static_cast<double>(i), from);
  else if constexpr (std::is_same_v<Step, float>)
    return ::fmaf(step, static_cast<float>(i), from);
  else
    return Step(float(from) + float(Step(float(step) * float(Step(static_cast<float>(i))))));
}

// The first half is counted from the start, the second from the end. One value is the first; of two
// halves that differ, the second is the longer one.
__device__ bool is_from_start(int64_t i, int64_t count) { return i < (count == 1 ? 1 : count / 2); }

template <class T, class Step>
__global__ void points(T* out, const int64_t count, const Step first, const Step last,
                       const Step step, const Step back) {
  const int64_t i = thread_index();
  if (i >= count) return;
  out[i] = converted<T>(is_from_start(i, count) ? point(first, step, i)
                                                : point(last, back, count - 1 - i));
}

__global__ void powers(double* out, const int64_t count, const double first, const double last,
                       const double step, const double base) {
  const int64_t i = thread_index();
  if (i >= count) return;
  out[i] = ::pow(base, is_from_start(i, count) ? first + step * static_cast<double>(i)
                                               : last - step * static_cast<double>(count - 1 - i));
}

int64_t steps(int64_t count) { return count > 1 ? count - 1 : 1; }

void linspace(void* out, DType dtype, int64_t count, double first, double last) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    using Step = std::conditional_t<std::is_integral_v<T>, double, T>;
    const Step from = static_cast<Step>(first), to = static_cast<Step>(last);
    const Step distance = static_cast<Step>(to - from);
    const Step step = static_cast<Step>(distance / Step(steps(count)));
    launch<points<T, Step>>(grid_of(count), static_cast<T*>(out), count, from, to, step,
                            static_cast<Step>(-step));
  });
}

void logspace(double* out, DType dtype, int64_t count, double first, double last, double base) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const double from = static_cast<T>(first), to = static_cast<T>(last);
    // Only the distance of the ends is rounded, as in PyTorch.
    const double distance = std::is_integral_v<T> ? to - from : double(static_cast<T>(to - from));
    launch<powers>(grid_of(count), out, count, from, to,
                   distance / static_cast<double>(steps(count)), base);
  });
}

}  // namespace

const CreationTable creation_table = {of_floats, of_ints, linspace, logspace};

}  // namespace tt::cuda
