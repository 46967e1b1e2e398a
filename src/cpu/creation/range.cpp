// arange, linspace and logspace; built once per instruction set, because PyTorch's linspace fuses
// multiply and add, which without such an instruction is a call.
#include "core/dtypes/with_type.h"
#include "core/formulas/points.h"
#include "core/formulas/wrapping.h"
#include "core/tables/creation.h"
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

template <class T, class Points>
void fill_halves(T* out, int64_t count, int64_t grain, const Points& points) {
  const int64_t half = first_half(count);
  parallel_for(count, grain, [=](int64_t begin, int64_t end) {
    const int64_t middle = half < begin ? begin : half < end ? half : end;
    for (int64_t i = begin; i < middle; ++i) out[i] = static_cast<T>(points.from_start(i));
    for (int64_t i = middle; i < end; ++i) out[i] = static_cast<T>(points.from_end(count - 1 - i));
  });
}

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

void linspace(void* out, DType dtype, int64_t count, double first, double last) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    fill_halves(static_cast<T*>(out), count, kGrain, LinearPoints<T>(count, first, last));
  });
}

void logspace(double* out, DType dtype, int64_t count, double first, double last, double base) {
  with_type(dtype, [&](auto type) {
    fill_halves(out, count, kPowers, Powers(type, count, first, last, base));
  });
}

}  // namespace

namespace TT_ISA {
extern const CreationTable creation_table = {of_floats, of_ints, linspace, logspace};
}

}  // namespace tt::cpu
