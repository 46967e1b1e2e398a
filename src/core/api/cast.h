// Copies between layouts, dtypes and devices.
#pragma once
#include "core/iter.h"
#include "core/program/recording.h"

namespace tt {

NDArray contiguous(const NDArray& x);  // x itself if it is
NDArray clone(const NDArray& x);       // keeps dense strides
// x, or a copy where a write to `written` might change it.
NDArray apart(const NDArray& x, const NDArray& written);
// Always a copy; in `out`, if that is of x's shape and this dtype, and apart from it.
NDArray astype(const NDArray& x, DType dtype, const NDArray* out = nullptr);
NDArray converted(const NDArray& x, DType dtype);  // x itself if it is of that dtype
// Contiguous and of this dtype; none of none.
std::optional<NDArray> prepared(const NDArray* x, DType dtype);
NDArray reshape(const NDArray& x, const Dims& shape);  // a view where the strides allow it
// x itself if it is there, else a copy with its strides if they are dense.
NDArray to_device(const NDArray& x, const Device& device);
// The same, and the caller does not wait where it need not: between an accelerator and pinned
// memory of the host the copy goes in the order of the current stream. What comes to the host is
// pinned.
NDArray to_device_later(const NDArray& x, const Device& device);
// out = x in the order of the current stream, without waiting; false, and nothing is done, unless
// one is an accelerator's, the other pinned, and their elements lie alike.
bool copy_later(const NDArray& out, const NDArray& x);
// A copy in memory of the host that an accelerator copies from and to without waiting.
NDArray to_pinned(const NDArray& x, const Accelerator& accelerator);
// The elements, brought to the host if they are not there. NotImplementedError for meta.
NDArray on_host(const NDArray& x);
// The elements of an array, brought to the host: for messages, and where the shape of a result
// hangs on them. Nothing else in core/api reads an element (.ci/run looks).
template <class T>
class HostElements {
 public:
  explicit HostElements(NDArray x)
      : there_(x.device().on_host && x.is_contiguous() ? std::move(x) : on_host(contiguous(x))) {
    refuse_recording("reads elements");
  }
  int64_t size() const { return there_.numel(); }
  T operator[](int64_t i) const { return read<T>(there_.data() + i * int64_t{sizeof(T)}); }

 private:
  NDArray there_;
};
// out[...] = x, broadcast, converted and brought to its device. A float that goes to an integer is
// truncated.
void copy_into(const NDArray& out, const Operand& x);

}  // namespace tt
