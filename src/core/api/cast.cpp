#include "core/api/cast.h"

#include <vector>

#include "core/extent.h"
#include "core/launch.h"
#include "core/result.h"
#include "core/tables/cast.h"

namespace tt {

NDArray contiguous(const NDArray& x) {
  if (x.is_contiguous()) return x;
  NDArray out = x.new_empty(x.shape(), x.dtype());
  copy_into(out, &x);
  return out;
}

NDArray clone(const NDArray& x) { return astype(x, x.dtype()); }

NDArray apart(const NDArray& x, const NDArray& written) {
  return x.storage() == written.storage() ? clone(x) : x;
}

NDArray astype(const NDArray& x, DType dtype, const NDArray* wanted) {
  NDArray out = wanted ? strided_result_in(wanted, x.shape(), dtype, x.device(), {&x})
                       : x.new_empty_strided(x.shape(), like_strides(x), dtype);
  const Operand inputs[] = {&x};
  launch(x)->cast->copy(Iter(out, inputs, 1, x.dtype(), dtype));
  return out;
}

NDArray converted(const NDArray& x, DType dtype) {
  return x.dtype() == dtype ? x : astype(x, dtype);
}

std::optional<NDArray> prepared(const NDArray* x, DType dtype) {
  return x ? std::optional(contiguous(converted(*x, dtype))) : std::nullopt;
}

NDArray reshape(const NDArray& x, const Dims& shape) {
  if (auto view = x.try_view(shape)) return *view;
  return contiguous(x).view(shape);
}

NDArray to_device(const NDArray& x, const Device& device) {
  const Device& from = x.device();
  if (&from == &device) return x;
  if (!from.has_data) throw NotImplementedError("Cannot copy out of meta tensor; no data!");
  const NDArray dense = x.is_dense() ? x : clone(x);
  const NDArray y = NDArray::empty_strided(dense.shape(), dense.strides(), x.dtype(), device);
  const size_t bytes = x.numel() * itemsize(x.dtype());
  if (device.on_host) {
    from.to_host(y.data(), dense.data(), bytes);
  } else if (from.on_host) {
    device.from_host(y.data(), dense.data(), bytes);
  } else if (device.has_data) {
    std::vector<char> between(bytes);
    from.to_host(between.data(), dense.data(), bytes);
    device.from_host(y.data(), between.data(), bytes);
  }
  return y;
}

NDArray on_host(const NDArray& x) {
  return to_device(x, x.device().on_host ? x.device() : cpu_device());
}

void copy_into(const NDArray& out, const Operand& x) {
  if (auto array = as_array(x);
      array && out.storage() == array->storage() && same_elements(out, *array))
    return out.mark_written();
  check_writable(out);
  std::optional<NDArray> copy;
  Operand input = x;
  DType from = out.dtype();
  if (auto array = as_array(x)) {
    from = array->dtype();
    if (&array->device() != &out.device()) {
      copy = to_device(array->dtype() == out.dtype() ? *array : astype(*array, out.dtype()),
                       out.device());
      return copy_into(out, &*copy);
    }
    const Dims shape = broadcast(out.shape(), array->shape());
    if (shape != out.shape())
      throw RuntimeError("[copy_] output with shape ", out.shape(),
                         " doesn't match the broadcast shape ", shape);
    if (check_overlap(out, *array)) {
      copy = clone(*array);
      input = &*copy;
    }
  }
  write_into(out, [&] { launch(out)->cast->copy(Iter(out, &input, 1, from, out.dtype())); });
}

}  // namespace tt
