// NDArray: shape, strides, offset and dtype over a flat Storage. Views are stride arithmetic.
//
// Nothing of an NDArray changes after construction; only the elements it looks at do. Strides and
// offset count elements; strides are never negative. Not here: computation (api/).
#pragma once
#include <optional>

#include "core/devices/threads.h"
#include "core/dims.h"
#include "core/dtypes/dtype.h"
#include "core/memory/storage.h"

namespace tt {

class NDArray {
 public:
  // Fresh, uninitialised memory. `strides` must be dense: some permutation of contiguous.
  static NDArray empty(const Dims& shape, DType dtype, const Device& device);
  static NDArray empty_strided(const Dims& shape, const Dims& strides, DType dtype,
                               const Device& device);
  // The same on the device of this array.
  NDArray new_empty(const Dims& shape, DType dtype) const;
  NDArray new_empty_strided(const Dims& shape, const Dims& strides, DType dtype) const;
  // Over memory that exists; throws where an element would lie outside it.
  NDArray(Ref<Storage> storage, const Dims& shape, const Dims& strides, int64_t offset,
          DType dtype);

  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  int ndim() const { return shape_.size(); }
  int64_t numel() const { return numel_; }
  const Ref<Storage>& storage() const { return storage_; }
  const Device& device() const { return storage_->device; }
  // In the device's memory. Computed per call: a storage may move.
  char* data() const { return storage_->data + offset_ * itemsize(dtype_); }
  bool is_contiguous() const;
  // Every element has an address of its own, and they fill one block without gaps.
  bool is_dense() const;

  uint64_t stamp() const { return version().stamp.load(std::memory_order_relaxed); }
  uint64_t writes() const { return version().writes.load(std::memory_order_relaxed); }
  // Every write to the elements ends with this.
  void mark_written() const { version().mark_written(); }

  NDArray alias() const;  // the same elements under a version cell of its own: `.data`
  NDArray as_strided(const Dims& shape, const Dims& strides, int64_t offset) const;
  // The same memory as elements of another dtype.
  NDArray reinterpret(DType dtype, const Dims& shape, const Dims& strides, int64_t offset) const;
  // A size may be -1. nullopt where the strides allow no view.
  std::optional<NDArray> try_view(const Dims& shape) const;
  NDArray view(const Dims& shape) const;
  NDArray permute(const Dims& dims) const;
  NDArray transpose(int64_t dim0, int64_t dim1) const;
  NDArray expand(const Dims& shape) const;  // a size of -1 keeps the dim
  NDArray select(int64_t dim, int64_t index) const;
  // Python's slice: clamped bounds; step >= 1.
  NDArray slice(int64_t dim, int64_t start, int64_t stop, int64_t step) const;
  NDArray diagonal(int64_t offset, int64_t dim0, int64_t dim1) const;
  NDArray unfold(int64_t dim, int64_t size, int64_t step) const;
  NDArray squeeze(const Dims& dims) const;
  NDArray unsqueeze(int64_t dim) const;

 private:
  struct Unchecked {};
  NDArray(Unchecked, Ref<Storage> storage, Ref<Version> own_version, const Dims& shape,
          const Dims& strides, int64_t offset, DType dtype, int64_t numel)
      : storage_(std::move(storage)),
        own_version_(std::move(own_version)),
        offset_(offset),
        numel_(numel),
        dtype_(dtype),
        shape_(shape),
        strides_(strides) {}
  Version& version() const { return own_version_ ? *own_version_ : storage_->version; }
  // A view that stays inside by construction.
  NDArray derived(const Dims& shape, const Dims& strides, int64_t offset) const;

  Ref<Storage> storage_;
  Ref<Version> own_version_;  // of an alias() and its views; else the storage's serves
  int64_t offset_;
  int64_t numel_;
  DType dtype_;
  Dims shape_;
  Dims strides_;
};

// PyTorch's error for arrays of two devices.
[[noreturn]] void throw_mixed(const Device& one, const Device& other);

// Resolves one size of -1 in `shape` to make `numel` elements; throws RuntimeError as PyTorch does.
Dims infer_shape(const Dims& shape, int64_t numel);

// Calls write(), which writes to x: to the end, or until Ctrl-C.
template <class Write>
void write_into(const NDArray& x, const Write& write) {
  try {
    write();
  } catch (const Interrupted&) {
    x.mark_written();
    throw;
  }
  x.mark_written();
}

}  // namespace tt
