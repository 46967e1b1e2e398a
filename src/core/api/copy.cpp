#include "core/api/copy.h"

#include <algorithm>
#include <cstring>

#include "core/api/result.h"
#include "core/backend.h"
#include "core/with_type.h"

namespace tt {

NDArray contiguous(const NDArray& x) {
  if (x.is_contiguous()) return x;
  NDArray out = NDArray::empty(x.shape(), x.dtype());
  copy_into(out, &x);
  return out;
}

NDArray clone(const NDArray& x) { return astype(x, x.dtype()); }

NDArray astype(const NDArray& x, DType dtype, const NDArray* wanted) {
  NDArray out = wanted ? strided_result_in(wanted, x.shape(), dtype, {&x})
                       : NDArray::empty_strided(x.shape(), like_strides(x), dtype);
  const Operand inputs[] = {&x};
  cpu_backend().copy(Iter(out, inputs, 1, x.dtype(), dtype));
  return out;
}

NDArray converted(const NDArray& x, DType dtype) {
  return x.dtype() == dtype ? x : astype(x, dtype);
}

NDArray reshape(const NDArray& x, const Dims& shape) {
  if (auto view = x.try_view(shape)) return *view;
  return contiguous(x).view(shape);
}

namespace {

bool is_same(const NDArray& a, const NDArray& b) {
  return a.data() == b.data() && a.storage() == b.storage() && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace

void copy_into(const NDArray& out, const Operand& x) {
  if (auto array = as_array(x); array && is_same(out, *array)) return out.mark_written();
  check_writable(out);
  std::optional<NDArray> copy;
  Operand input = x;
  DType from = out.dtype();
  if (auto array = as_array(x)) {
    from = array->dtype();
    const Dims shape = broadcast(out.shape(), array->shape());
    if (shape != out.shape())
      throw RuntimeError("[copy_] output with shape ", out.shape(),
                         " doesn't match the broadcast shape ", shape);
    if (check_overlap(out, *array)) {
      copy = clone(*array);
      input = &*copy;
    }
  }
  cpu_backend().copy(Iter(out, &input, 1, from, out.dtype()));
  out.mark_written();
}

NDArray full(const Dims& shape, const Scalar& value, DType dtype) {
  NDArray out = NDArray::empty(shape, dtype);
  const Operand input = value;
  cpu_backend().copy(Iter(out, &input, 1, dtype, dtype));
  return out;
}

namespace {

template <class T>
void fill_range(T* out, int64_t count, const Scalar& start, const Scalar& step) {
  if (start.kind == Category::Float || step.kind == Category::Float) {
    const double first = start.to<double>(), delta = step.to<double>();
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(first + delta * i);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(start.i + step.i * i);
  }
}

// One value has the first; of two halves that differ, the second is the longer one.
template <class T>
void fill_between(T* out, int64_t count, double first, double last) {
  const double step = (last - first) / static_cast<double>(std::max<int64_t>(count - 1, 1));
  const int64_t half = count == 1 ? 1 : count / 2;
  for (int64_t i = 0; i < half; ++i) out[i] = static_cast<T>(first + step * i);
  for (int64_t i = half; i < count; ++i) out[i] = static_cast<T>(last - step * (count - 1 - i));
}

}  // namespace

NDArray arange(const Scalar& start, const Scalar& step, int64_t count, DType dtype,
               const NDArray* wanted) {
  NDArray out = result_in(wanted, {count}, dtype, {});
  with_type(dtype, [&](auto type) {
    fill_range(reinterpret_cast<decltype(type)*>(out.data()), count, start, step);
  });
  return out;
}

NDArray linspace(double first, double last, int64_t count, DType dtype, const NDArray* wanted) {
  NDArray out = result_in(wanted, {count}, dtype, {});
  with_type(dtype, [&](auto type) {
    fill_between(reinterpret_cast<decltype(type)*>(out.data()), count, first, last);
  });
  return out;
}

}  // namespace tt
