#include "core/api/copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/api/result.h"
#include "core/backend.h"
#include "core/with_type.h"
#include "core/wrapping.h"

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
  write_into(out, [&] { cpu_backend().copy(Iter(out, &input, 1, from, out.dtype())); });
}

NDArray full(const Dims& shape, const Scalar& value, DType dtype) {
  NDArray out = NDArray::empty(shape, dtype);
  const Operand input = value;
  cpu_backend().copy(Iter(out, &input, 1, dtype, dtype));
  return out;
}

namespace {

// Calls fill(begin, end) for parts of [0, count), between which Ctrl-C ends it.
template <class Fill>
void in_parts(int64_t count, const Fill& fill) {
  constexpr int64_t kPart = 1 << 24;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    if (begin) check_interrupt();
    fill(begin, std::min(begin + kPart, count));
  }
}

template <class T>
void fill_range(T* out, int64_t count, const Scalar& start, const Scalar& step) {
  if (start.kind == Category::Float || step.kind == Category::Float) {
    const double first = start.to<double>(), delta = step.to<double>();
    in_parts(count, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(first + delta * i);
    });
  } else {
    const int64_t first = start.i, delta = step.i;
    in_parts(count, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = static_cast<T>(wrapping_add(first, wrapping_mul(delta, i)));
    });
  }
}

// from + step * i, rounded once but of halves, whose every operation rounds, as in PyTorch.
template <class T, class Step>
T point(Step from, Step step, int64_t i) {
  if constexpr (std::is_floating_point_v<Step>)
    return static_cast<T>(std::fma(step, static_cast<Step>(i), from));
  else
    return T(float(from) + float(T(float(step) * float(T(float(i))))));
}

// One value has the first; of two halves that differ, the second is the longer one.
template <class T>
void fill_between(T* out, int64_t count, double first, double last) {
  using Step = std::conditional_t<std::is_integral_v<T>, double, T>;
  const Step from = static_cast<Step>(first), to = static_cast<Step>(last);
  const Step distance = static_cast<Step>(to - from);
  const Step step = static_cast<Step>(distance / Step(std::max<int64_t>(count - 1, 1)));
  const int64_t half = count == 1 ? 1 : count / 2;
  in_parts(half, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = point<T>(from, step, i);
  });
  const Step back = static_cast<Step>(-step);
  in_parts(count - half, [=](int64_t begin, int64_t end) {
    for (int64_t i = half + begin; i < half + end; ++i) out[i] = point<T>(to, back, count - 1 - i);
  });
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

NDArray logspace(double first, double last, int64_t count, double base, DType dtype) {
  const NDArray powers = NDArray::empty({count}, DType::Float64);
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const double from = static_cast<T>(first), to = static_cast<T>(last);
    // Only the distance of the ends is rounded, as in PyTorch.
    const double distance = std::is_integral_v<T> ? to - from : double(static_cast<T>(to - from));
    const double step = distance / static_cast<double>(std::max<int64_t>(count - 1, 1));
    const int64_t half = count == 1 ? 1 : count / 2;
    double* out = reinterpret_cast<double*>(powers.data());
    for (int64_t i = 0; i < count; ++i)
      out[i] = std::pow(base, i < half ? from + step * i : to - step * (count - 1 - i));
  });
  return astype(powers, dtype);
}

}  // namespace tt
