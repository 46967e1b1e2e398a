#include "core/api/cast.h"

#include <vector>

#include "core/devices/accelerator.h"
#include "core/devices/launch.h"
#include "core/memory/extent.h"
#include "core/result.h"
#include "core/tables/cast.h"

namespace tt {

namespace {

// Uninitialised pinned memory, for the elements of x as they lie.
NDArray empty_pinned(const NDArray& x, const Accelerator& accelerator) {
  struct Block {
    const Accelerator& accelerator;
    void* data;
  };
  const size_t bytes = x.numel() * itemsize(x.dtype());
  void* const data = accelerator.allocate_pinned(bytes ? bytes : 1);
  const auto release = [](void* owner) {
    const auto* const block = static_cast<Block*>(owner);
    block->accelerator.release_pinned(block->data);
    delete block;
  };
  Ref<Storage> storage(new Storage(data, bytes, release, new Block{accelerator, data}));
  return NDArray(std::move(storage), x.shape(), x.strides(), 0, x.dtype());
}

NDArray dense(const NDArray& x) { return x.is_dense() ? x : clone(x); }

// Both are dense. Each run of a program does the copy again if it is of numbers of the code, and
// else none does.
void note_copy(const NDArray& to, const NDArray& from) {
  Recording* const r = recording();
  const size_t bytes = from.numel() * itemsize(from.dtype());
  if (!r || !to.device().has_data || bytes == 0) return;
  if (from.device().on_host && r->is_constant(from.data()))
    r->fill(to.device(), to.data(), from.data(), bytes);
  else
    r->refuse("copies from one device to another");
}

}  // namespace

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
  launch(x)(backend_of(x).cast->copy, Iter(out, inputs, 1, x.dtype(), dtype));
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
  const NDArray given = dense(x);
  const NDArray y = NDArray::empty_strided(given.shape(), given.strides(), x.dtype(), device);
  const size_t bytes = x.numel() * itemsize(x.dtype());
  if (device.on_host) {
    from.to_host(y.data(), given.data(), bytes);
  } else if (from.on_host) {
    device.from_host(y.data(), given.data(), bytes);
  } else if (device.has_data) {
    std::vector<char> between(bytes);
    from.to_host(between.data(), given.data(), bytes);
    device.from_host(y.data(), between.data(), bytes);
  }
  note_copy(y, given);
  return y;
}

NDArray to_device_later(const NDArray& x, const Device& device) {
  const Device& from = x.device();
  const size_t bytes = x.numel() * itemsize(x.dtype());
  if (from.on_host && device.accelerator && device.accelerator->is_pinned(x.storage()->data)) {
    if (!x.is_dense()) return to_device(x, device);  // by way of a copy, which is not pinned
    const NDArray y = NDArray::empty_strided(x.shape(), x.strides(), x.dtype(), device);
    device.accelerator->from_host_later(y.data(), x.data(), bytes);
    note_copy(y, x);
    return y;
  }
  if (device.on_host && from.accelerator) {
    const NDArray given = dense(x), y = empty_pinned(given, *from.accelerator);
    from.accelerator->to_host_later(y.data(), given.data(), bytes);
    note_copy(y, given);
    return y;
  }
  return to_device(x, device);
}

bool copy_later(const NDArray& out, const NDArray& x) {
  if (out.dtype() != x.dtype() || out.shape() != x.shape() || out.strides() != x.strides() ||
      !x.is_dense())
    return false;
  const Device &from = x.device(), &to = out.device();
  const size_t bytes = x.numel() * itemsize(x.dtype());
  if (from.on_host && to.accelerator && to.accelerator->is_pinned(x.storage()->data)) {
    check_writable(out);
    write_into(out, [&] { to.accelerator->from_host_later(out.data(), x.data(), bytes); });
    note_copy(out, x);
    return true;
  }
  if (to.on_host && from.accelerator && from.accelerator->is_pinned(out.storage()->data)) {
    check_writable(out);
    write_into(out, [&] { from.accelerator->to_host_later(out.data(), x.data(), bytes); });
    note_copy(out, x);
    return true;
  }
  return false;
}

NDArray to_pinned(const NDArray& x, const Accelerator& accelerator) {
  refuse_recording("copies to pinned memory");
  const NDArray given = dense(x), y = empty_pinned(given, accelerator);
  cpu_device().copy(y.data(), given.data(), given.numel() * itemsize(given.dtype()));
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
  write_into(out, [&] {
    launch(out)(backend_of(out).cast->copy, Iter(out, &input, 1, from, out.dtype()));
  });
}

}  // namespace tt
