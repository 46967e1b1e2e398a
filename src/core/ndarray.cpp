#include "core/ndarray.h"

namespace tt {

namespace {

// The strides under which `shape` views the elements of `from`, if there are any: each run of dims
// of `from` that lies in one piece must be cut up by whole dims of `shape`.
std::optional<Dims> view_strides(const Dims& from, const Dims& from_strides, const Dims& shape,
                                 int64_t numel) {
  if (numel == 0) return from == shape ? from_strides : contiguous_strides(shape);
  Dims strides(shape.size(), 1);
  int to = shape.size() - 1;
  int64_t base = from.empty() ? 1 : from_strides.back();  // stride of the run's last element
  int64_t run = 1, made = 1;                              // elements in the run, in dims of `shape`
  for (int i = from.size() - 1; i >= 0; --i) {
    run *= from[i];
    const bool run_ends = i == 0 || (from[i - 1] != 1 && from_strides[i - 1] != run * base);
    if (!run_ends) continue;
    while (to >= 0 && (made < run || shape[to] == 1)) {
      strides[to] = made * base;
      made *= shape[to--];
    }
    if (made != run) return std::nullopt;
    if (i > 0) {
      base = from_strides[i - 1];
      run = made = 1;
    }
  }
  while (to >= 0) {  // from was 0-d: only sizes of 1 are left
    strides[to--] = made * base;
  }
  return strides;
}

// The stride of every `step`th element, of which there are `size`. One that is never followed stays
// as it was if it would be huge: no later view may overflow.
int64_t stepped(int64_t stride, int64_t step, int64_t size) {
  int64_t result;
  const bool overflow = __builtin_mul_overflow(stride, step, &result);
  return size <= 1 && (overflow || result >= int64_t{1} << 40) ? stride : result;
}

}  // namespace

void throw_mixed(const Device& one, const Device& other) {
  const auto numbered = [](const Device& device) {
    const std::string name = device.name;
    return name == "cuda" ? name + ":0" : name;
  };
  throw RuntimeError(
      "Expected all tensors to be on the same device, but found at least two devices, ",
      numbered(one), " and ", numbered(other), "!");
}

Dims infer_shape(const Dims& shape, int64_t numel) {
  Dims result = shape;
  int unknown = -1;
  int64_t known = 1;
  bool overflow = false;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) throw RuntimeError("only one dimension can be inferred");
      unknown = i;
    } else if (shape[i] < 0) {
      throw RuntimeError("invalid shape dimension ", shape[i], " at index ", i, " of shape ",
                         shape);
    } else {
      overflow |= __builtin_mul_overflow(known, shape[i], &known);
    }
  }
  if (!overflow && unknown >= 0) {
    if (known == 0 && numel == 0)
      throw RuntimeError("cannot reshape tensor of 0 elements into shape ", shape,
                         " because the unspecified dimension size -1 can be any value and is "
                         "ambiguous");
    if (known != 0 && numel % known == 0) {
      result[unknown] = numel / known;
      return result;
    }
  }
  if (overflow || unknown >= 0 || known != numel)
    throw RuntimeError("shape '", shape, "' is invalid for input of size ", numel);
  return result;
}

NDArray NDArray::empty(const Dims& shape, DType dtype, const Device& device) {
  return empty_strided(shape, contiguous_strides(shape), dtype, device);
}

NDArray NDArray::empty_strided(const Dims& shape, const Dims& strides, DType dtype,
                               const Device& device) {
  const int64_t numel = checked_numel(shape, "empty");
  int64_t bytes;
  if (__builtin_mul_overflow(numel, static_cast<int64_t>(itemsize(dtype)), &bytes))
    throw RuntimeError("[empty] the size in bytes of shape ", shape, " overflows");
  return NDArray(Unchecked{}, Ref<Storage>(new Storage(bytes, device)), Ref<Version>(), shape,
                 strides, 0, dtype, numel);
}

NDArray NDArray::new_empty(const Dims& shape, DType dtype) const {
  return empty(shape, dtype, device());
}

NDArray NDArray::new_empty_strided(const Dims& shape, const Dims& strides, DType dtype) const {
  return empty_strided(shape, strides, dtype, device());
}

NDArray::NDArray(Ref<Storage> storage, const Dims& shape, const Dims& strides, int64_t offset,
                 DType dtype)
    : NDArray(Unchecked{}, std::move(storage), Ref<Version>(), shape, strides, offset, dtype,
              checked_numel(shape, "as_strided")) {
  if (shape.size() != strides.size())
    throw RuntimeError("[as_strided] mismatch in length of strides and shape: ", strides, " and ",
                       shape);
  if (offset < 0) throw RuntimeError("[as_strided] negative storage offset ", offset);
  int64_t last = offset;   // index of the last element
  int64_t bound = offset;  // above every stride that a view of this may get
  bool overflow = false;
  for (int i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0)
      throw RuntimeError(
          "as_strided: Negative strides are not supported at the moment, got "
          "strides: ",
          strides);
    int64_t reach;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(shape[i], 1), strides[i], &reach);
    overflow |= __builtin_add_overflow(bound, reach, &bound);
    if (!overflow) last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  }
  overflow |= __builtin_mul_overflow(bound, static_cast<int64_t>(itemsize(dtype)), &bound);
  const int64_t capacity = storage_->bytes / itemsize(dtype);
  if (overflow || (numel_ > 0 && last >= capacity))
    throw RuntimeError("setStorage: sizes ", shape, ", strides ", strides, ", storage offset ",
                       offset, " are out of bounds for storage of size ", storage_->bytes,
                       " bytes (", capacity, " elements of ", dtype, ")");
}

NDArray NDArray::derived(const Dims& shape, const Dims& strides, int64_t offset) const {
  return NDArray(Unchecked{}, storage_, own_version_, shape, strides, offset, dtype_,
                 product(shape));
}

bool NDArray::is_contiguous() const {
  int64_t expected = 1;
  for (int i = ndim() - 1; i >= 0; --i) {
    if (shape_[i] == 1) continue;
    if (strides_[i] != expected) return numel_ == 0;
    expected *= shape_[i];
  }
  return true;
}

bool NDArray::is_dense() const {
  if (is_contiguous()) return true;
  Dims order;
  for (int i = 0; i < ndim(); ++i)
    if (shape_[i] != 1) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [this](int64_t a, int64_t b) { return strides_[a] < strides_[b]; });
  int64_t expected = 1;
  for (int64_t dim : order) {
    if (strides_[dim] != expected) return false;
    expected *= shape_[dim];
  }
  return true;
}

NDArray NDArray::alias() const {
  NDArray result = *this;
  result.own_version_ = Ref<Version>(new Version(0));
  return result;
}

NDArray NDArray::as_strided(const Dims& shape, const Dims& strides, int64_t offset) const {
  return reinterpret(dtype_, shape, strides, offset);
}

NDArray NDArray::reinterpret(DType dtype, const Dims& shape, const Dims& strides,
                             int64_t offset) const {
  NDArray result(storage_, shape, strides, offset, dtype);
  result.own_version_ = own_version_;
  return result;
}

std::optional<NDArray> NDArray::try_view(const Dims& shape) const {
  const Dims full = infer_shape(shape, numel_);
  const std::optional<Dims> strides = view_strides(shape_, strides_, full, numel_);
  if (!strides) return std::nullopt;
  return derived(full, *strides, offset_);
}

NDArray NDArray::view(const Dims& shape) const {
  if (auto result = try_view(shape)) return *result;
  throw RuntimeError(
      "view size is not compatible with input tensor's size and stride (at least one dimension "
      "spans across two contiguous subspaces). Use .reshape(...) instead. (shape ",
      shape_, ", strides ", strides_, ", asked for ", shape, ")");
}

NDArray NDArray::permute(const Dims& dims) const {
  if (dims.size() != ndim())
    throw RuntimeError(
        "permute(sparse_coo): number of dimensions in the tensor input does not "
        "match the length of the desired ordering of dimensions i.e. input.dim() = ",
        ndim(), " is not equal to len(dims) = ", dims.size());
  Dims shape = shape_, strides = strides_;
  bool seen[kMaxDims] = {};
  for (int i = 0; i < ndim(); ++i) {
    const int dim = wrap_dim(dims[i], ndim());
    if (seen[dim]) throw RuntimeError("permute(): duplicate dims are not allowed.");
    seen[dim] = true;
    shape[i] = shape_[dim];
    strides[i] = strides_[dim];
  }
  return derived(shape, strides, offset_);
}

NDArray NDArray::transpose(int64_t dim0, int64_t dim1) const {
  const int a = wrap_dim(dim0, ndim()), b = wrap_dim(dim1, ndim());
  if (a == b) return *this;
  Dims shape = shape_, strides = strides_;
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return derived(shape, strides, offset_);
}

NDArray NDArray::expand(const Dims& shape) const {
  const auto refuse = [&](const auto&... why) {
    throw RuntimeError("expand(", shape_, ", size=", shape, "): ", why...);
  };
  const int lead = shape.size() - ndim();
  if (lead < 0)
    refuse("the number of sizes provided (", shape.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", ndim(), ")");
  Dims sizes = shape, strides(shape.size(), 0);
  for (int i = shape.size() - 1; i >= 0; --i) {
    const int64_t own = i < lead ? 1 : shape_[i - lead];
    if (sizes[i] == -1) {
      if (i < lead)
        refuse("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing ",
               "dimension ", i);
      sizes[i] = own;
    }
    if (sizes[i] < 0) refuse("negative size ", sizes[i]);
    if (own == sizes[i]) {
      // A new dim of size 1 gets the stride that keeps the array contiguous, as in PyTorch.
      if (i >= lead) strides[i] = strides_[i - lead];
    } else if (own != 1) {
      throw RuntimeError("The expanded size of the tensor (", sizes[i],
                         ") must match the existing size (", own, ") at non-singleton dimension ",
                         i, ".  Target sizes: ", shape, ".  Tensor sizes: ", shape_);
    }
  }
  checked_numel(sizes, "expand");
  for (int i = lead - 1; i >= 0 && ndim() > 0; --i)
    if (sizes[i] == 1) strides[i] = sizes[i + 1] * strides[i + 1];
  return derived(sizes, strides, offset_);
}

NDArray NDArray::select(int64_t dim, int64_t index) const {
  if (ndim() == 0) throw IndexError("select() cannot be applied to a 0-dim tensor.");
  const int d = wrap_dim(dim, ndim());
  if (index < -shape_[d] || index >= shape_[d])
    throw IndexError("index ", index, " is out of bounds for dimension ", d, " with size ",
                     shape_[d]);
  if (index < 0) index += shape_[d];
  Dims shape = shape_, strides = strides_;
  shape.erase(d);
  strides.erase(d);
  return derived(shape, strides, offset_ + index * strides_[d]);
}

NDArray NDArray::slice(int64_t dim, int64_t start, int64_t stop, int64_t step) const {
  if (ndim() == 0) throw IndexError("slice() cannot be applied to a 0-dim tensor.");
  if (step <= 0) throw ValueError("step must be greater than zero");
  const int d = wrap_dim(dim, ndim());
  const int64_t size = shape_[d];
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  start = std::clamp<int64_t>(start, 0, size);
  stop = std::clamp<int64_t>(stop, start, size);
  Dims shape = shape_, strides = strides_;
  const int64_t span = stop - start;
  shape[d] = span / step + (span % step != 0);
  strides[d] = stepped(strides_[d], step, shape[d]);
  return derived(shape, strides, offset_ + start * strides_[d]);
}

NDArray NDArray::diagonal(int64_t offset, int64_t dim0, int64_t dim1) const {
  const int a = wrap_dim(dim0, ndim()), b = wrap_dim(dim1, ndim());
  if (a == b) throw RuntimeError("diagonal dimensions cannot be identical ", dim0, ", ", dim1);
  const int64_t rows = offset < 0 ? (offset < -shape_[a] ? 0 : shape_[a] + offset) : shape_[a];
  const int64_t columns = offset > 0 ? (offset > shape_[b] ? 0 : shape_[b] - offset) : shape_[b];
  const int64_t size = std::max<int64_t>(std::min(rows, columns), 0);
  int64_t start = offset_;
  if (size > 0) start += offset >= 0 ? offset * strides_[b] : -offset * strides_[a];
  Dims shape = shape_, strides = strides_;
  const int64_t stride = strides_[a] + strides_[b];
  for (int dim : {std::max(a, b), std::min(a, b)}) {
    shape.erase(dim);
    strides.erase(dim);
  }
  shape.push_back(size);
  strides.push_back(stride);
  return derived(shape, strides, start);
}

NDArray NDArray::unfold(int64_t dim, int64_t size, int64_t step) const {
  const int d = wrap_dim(dim, ndim());
  const int64_t length = ndim() == 0 ? 1 : shape_[d];
  if (size < 0) throw RuntimeError("size is ", size, " but must be >= 0");
  if (size > length)
    throw RuntimeError("maximum size for tensor at dimension ", d, " is ", length, " but size is ",
                       size);
  if (step <= 0) throw RuntimeError("step is ", step, " but must be > 0");
  Dims shape = shape_, strides = strides_;
  shape.push_back(size);
  strides.push_back(ndim() == 0 ? 1 : strides_[d]);
  if (ndim() > 0) {
    shape[d] = (length - size) / step + 1;
    strides[d] = stepped(strides_[d], step, shape[d]);
  }
  return derived(shape, strides, offset_);
}

NDArray NDArray::squeeze(const Dims& dims) const {
  bool drop[kMaxDims] = {};
  for (int64_t dim : dims) drop[wrap_dim(dim, ndim())] = true;
  Dims shape, strides;
  for (int i = 0; i < ndim(); ++i) {
    if (drop[i] && shape_[i] == 1) continue;
    shape.push_back(shape_[i]);
    strides.push_back(strides_[i]);
  }
  return derived(shape, strides, offset_);
}

NDArray NDArray::unsqueeze(int64_t dim) const {
  const int d = wrap_dim(dim, ndim() + 1);
  Dims shape = shape_, strides = strides_;
  strides.insert(d, d < ndim() ? shape_[d] * strides_[d] : 1);
  shape.insert(d, 1);
  return derived(shape, strides, offset_);
}

}  // namespace tt
