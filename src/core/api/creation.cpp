#include "core/api/creation.h"

#include "core/api/cast.h"
#include "core/devices/launch.h"
#include "core/iter.h"
#include "core/result.h"
#include "core/tables/cast.h"
#include "core/tables/creation.h"

namespace tt {

NDArray full(const Dims& shape, const Scalar& value, DType dtype, const Device& device) {
  NDArray out = NDArray::empty(shape, dtype, device);
  const Operand input = value;
  launch(out)(backend_of(out).cast->copy, Iter(out, &input, 1, dtype, dtype));
  return out;
}

NDArray new_full(const NDArray& x, const Dims& shape, const Scalar& value, DType dtype) {
  return full(shape, value, dtype, x.device());
}

NDArray arange(const Scalar& start, const Scalar& step, int64_t count, DType dtype,
               const NDArray* wanted, const Device& device) {
  NDArray out = result_in(wanted, {count}, dtype, device, {});
  if (start.kind == Category::Float || step.kind == Category::Float)
    launch(out)(backend_of(out).creation->of_floats, out.data(), dtype, count, start.to<double>(),
                step.to<double>());
  else
    launch(out)(backend_of(out).creation->of_ints, out.data(), dtype, count, start.i, step.i);
  return out;
}

NDArray linspace(double first, double last, int64_t count, DType dtype, const NDArray* wanted,
                 const Device& device) {
  NDArray out = result_in(wanted, {count}, dtype, device, {});
  launch(out)(backend_of(out).creation->linspace, out.data(), dtype, count, first, last);
  return out;
}

NDArray logspace(double first, double last, int64_t count, double base, DType dtype,
                 const Device& device) {
  const NDArray powers = NDArray::empty({count}, DType::Float64, device);
  launch(powers)(backend_of(powers).creation->logspace, data_of<double>(powers), dtype, count,
                 first, last, base);
  return astype(powers, dtype);
}

}  // namespace tt
