// arange, linspace and logspace; built once per instruction set, because PyTorch's linspace fuses
// multiply and add, which without such an instruction is a call.
#include <type_traits>

#include "core/tables/creation.h"
#include "core/with_type.h"
#include "core/wrapping.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

constexpr int64_t kPowers = 1024;  // of them a thread is to have more than these

template <class T, class Value>
void fill(T* out, int64_t count, const Value& value) {
  parallel_for(count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = value(i);
  });
}

// The first half is counted from the start, the second from the end. One value has the first; of
// two halves that differ, the second is the longer one.
template <class T, class FromStart, class FromEnd>
void fill_halves(T* out, int64_t count, int64_t grain, const FromStart& from_start,
                 const FromEnd& from_end) {
  const int64_t half = count == 1 ? 1 : count / 2;
  parallel_for(count, grain, [=](int64_t begin, int64_t end) {
    const int64_t middle = half < begin ? begin : half < end ? half : end;
    for (int64_t i = begin; i < middle; ++i) out[i] = from_start(i);
    for (int64_t i = middle; i < end; ++i) out[i] = from_end(count - 1 - i);
  });
}

int64_t steps(int64_t count) { return count > 1 ? count - 1 : 1; }

void of_floats(void* out, DType dtype, int64_t count, double start, double step) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    fill(static_cast<T*>(out), count, [=](int64_t i) { return static_cast<T>(start + step * i); });
  });
}

void of_ints(void* out, DType dtype, int64_t count, int64_t start, int64_t step) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    fill(static_cast<T*>(out), count,
         [=](int64_t i) { return static_cast<T>(wrapping_add(start, wrapping_mul(step, i))); });
  });
}

// from + step * i, rounded once but of halves, whose every operation rounds, as in PyTorch.
template <class T>
T point(double from, double step, int64_t i) {
  return static_cast<T>(__builtin_fma(step, static_cast<double>(i), from));
}
template <class T>
T point(float from, float step, int64_t i) {
  return static_cast<T>(__builtin_fmaf(step, static_cast<float>(i), from));
}
template <class T>
T point(T from, T step, int64_t i) {
  return T(float(from) + float(T(float(step) * float(T(float(i))))));
}

void linspace(void* out, DType dtype, int64_t count, double first, double last) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    using Step = std::conditional_t<std::is_integral_v<T>, double, T>;
    const Step from = static_cast<Step>(first), to = static_cast<Step>(last);
    const Step distance = static_cast<Step>(to - from);
    const Step step = static_cast<Step>(distance / Step(steps(count)));
    const Step back = static_cast<Step>(-step);
    fill_halves(
        static_cast<T*>(out), count, kGrain, [=](int64_t i) { return point<T>(from, step, i); },
        [=](int64_t i) { return point<T>(to, back, i); });
  });
}

void logspace(double* out, DType dtype, int64_t count, double first, double last, double base) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const double from = static_cast<T>(first), to = static_cast<T>(last);
    // Only the distance of the ends is rounded, as in PyTorch.
    const double distance = std::is_integral_v<T> ? to - from : double(static_cast<T>(to - from));
    const double step = distance / static_cast<double>(steps(count));
    fill_halves(
        out, count, kPowers, [=](int64_t i) { return __builtin_pow(base, from + step * i); },
        [=](int64_t i) { return __builtin_pow(base, to - step * i); });
  });
}

}  // namespace

namespace TT_ISA {
extern const CreationTable creation_table = {of_floats, of_ints, linspace, logspace};
}

}  // namespace tt::cpu
