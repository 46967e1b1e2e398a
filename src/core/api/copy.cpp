#include "core/api/copy.h"

#include "core/api/result.h"
#include "core/backend.h"
#include "core/kernels/range.h"

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

NDArray arange(const Scalar& start, const Scalar& step, int64_t count, DType dtype,
               const NDArray* wanted) {
  NDArray out = result_in(wanted, {count}, dtype, {});
  const RangeTable& range = *cpu_backend().range;
  if (start.kind == Category::Float || step.kind == Category::Float)
    range.of_floats(out.data(), dtype, count, start.to<double>(), step.to<double>());
  else
    range.of_ints(out.data(), dtype, count, start.i, step.i);
  return out;
}

NDArray linspace(double first, double last, int64_t count, DType dtype, const NDArray* wanted) {
  NDArray out = result_in(wanted, {count}, dtype, {});
  cpu_backend().range->linspace(out.data(), dtype, count, first, last);
  return out;
}

NDArray logspace(double first, double last, int64_t count, double base, DType dtype) {
  const NDArray powers = NDArray::empty({count}, DType::Float64);
  cpu_backend().range->logspace(reinterpret_cast<double*>(powers.data()), dtype, count, first, last,
                                base);
  return astype(powers, dtype);
}

}  // namespace tt
