// arange, linspace and logspace: one element per thread.
#include "core/dtypes/with_type.h"
#include "core/formulas/points.h"
#include "core/formulas/wrapping.h"
#include "core/tables/creation.h"
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

template <class T, class Points>
__global__ void halves(T* out, const int64_t count, const Points points) {
  const int64_t i = thread_index();
  if (i >= count) return;
  out[i] =
      converted<T>(i < first_half(count) ? points.from_start(i) : points.from_end(count - 1 - i));
}

void linspace(void* out, DType dtype, int64_t count, double first, double last) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch<halves<T, LinearPoints<T>>>(grid_of(count), static_cast<T*>(out), count,
                                       LinearPoints<T>(count, first, last));
  });
}

void logspace(double* out, DType dtype, int64_t count, double first, double last, double base) {
  with_type(dtype, [&](auto type) {
    launch<halves<double, Powers>>(grid_of(count), out, count,
                                   Powers(type, count, first, last, base));
  });
}

}  // namespace

const CreationTable creation_table = {of_floats, of_ints, linspace, logspace};

}  // namespace tt::cuda
