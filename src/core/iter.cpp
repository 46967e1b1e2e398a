#include "core/iter.h"

#include "core/dtypes/with_type.h"
#include "core/memory/before_write.h"
#include "core/memory/extent.h"
#include "core/program/recording.h"

namespace tt {

namespace {

struct Layout {
  const Dims* shape;
  const Dims* strides;
};

Layout layout_of(const NDArray& array) { return {&array.shape(), &array.strides()}; }

// The stride of an array along dim `dim` of a shape that it broadcasts to.
int64_t broadcast_stride(const Layout& array, const Dims& shape, int dim) {
  const int own = dim - (shape.size() - array.shape->size());
  if (own < 0 || ((*array.shape)[own] == 1 && shape[dim] != 1)) return 0;
  return (*array.strides)[own];
}

// Fills `order` with the dims of `shape`, fastest first, by the strides of `arrays`: the first
// array decides, a stride of 0 leaves it to the next; of equal strides the larger dim goes outside;
// what is still tied keeps its position. PyTorch's order, insertion sort included.
void stride_order(const Dims& shape, const Layout* arrays, int count, int* order) {
  const int n = shape.size();
  for (int i = 0; i < n; ++i) order[i] = n - 1 - i;
  auto compare = [&](int a, int b) {
    for (int k = 0; k < count; ++k) {
      const int64_t stride_a = broadcast_stride(arrays[k], shape, a);
      const int64_t stride_b = broadcast_stride(arrays[k], shape, b);
      if (stride_a == 0 || stride_b == 0) continue;
      if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; ++i) {
    int current = i;
    for (int j = i - 1; j >= 0; --j) {
      const int order_of = compare(order[j], order[current]);
      if (order_of < 0) break;
      if (order_of == 0) continue;
      std::swap(order[j], order[current]);
      current = j;
    }
  }
}

// A size counts as at least `smallest`: PyTorch has 1 for copies and in row-major order, 0 for the
// results of ops in other orders.
Dims packed(const Dims& shape, const int* order, int64_t smallest) {
  Dims strides(shape.size(), 1);
  int64_t next = 1;
  for (int i = 0; i < shape.size(); ++i) {
    strides[order[i]] = next;
    next *= std::max(shape[order[i]], smallest);
  }
  return strides;
}

// Fastest first. Only four dims have this rule in PyTorch's elementwise ops, five do not.
constexpr int kChannelsLast[] = {1, 3, 2, 0};

bool is_channels_last(const Layout& array) {
  if (array.shape->size() != 4) return false;
  int64_t expected = 1;
  for (int dim : kChannelsLast) {
    const int64_t size = (*array.shape)[dim];
    if (size == 1) continue;
    if ((*array.strides)[dim] != expected) return false;
    expected *= size;
  }
  return true;
}

int collect(const Operand* operands, int count, const NDArray** arrays) {
  int found = 0;
  for (int i = 0; i < count; ++i)
    if (auto array = as_array(operands[i])) arrays[found++] = array;
  return found;
}

}  // namespace

Dims broadcast(const Operand* operands, int count) {
  Dims shape;
  for (int i = 0; i < count; ++i)
    if (auto array = as_array(operands[i])) shape = broadcast(shape, array->shape());
  return shape;
}

Dims result_strides(const Dims& shape, const Operand* operands, int count, DType compute,
                    int kept) {
  const NDArray* arrays[Iter::kMaxOperands];
  Layout layouts[Iter::kMaxOperands];
  Dims converted[Iter::kMaxOperands];
  const int found = collect(operands, count, arrays);
  bool same_shape = found == count, contiguous = true, channels_last = true, same_strides = true;
  for (int i = 0; i < found; ++i) {
    same_shape &= arrays[i]->shape() == shape;
    layouts[i] = layout_of(*arrays[i]);
    if (i >= kept && arrays[i]->dtype() != compute && !arrays[i]->is_dense()) {
      converted[i] = like_strides(*arrays[i]);
      layouts[i].strides = &converted[i];
      contiguous &= converted[i] == contiguous_strides(arrays[i]->shape());
    } else {
      contiguous &= arrays[i]->is_contiguous();
    }
    channels_last &= is_channels_last(layouts[i]);
    same_strides &= *layouts[i].strides == *layouts[0].strides;
  }
  if (contiguous && (same_shape || found == 1)) return contiguous_strides(shape);
  if (same_shape && channels_last) return packed(shape, kChannelsLast, 0);
  if (same_shape && same_strides && (arrays[0]->is_dense() || layouts[0].strides == &converted[0]))
    return *layouts[0].strides;
  int order[kMaxDims];
  stride_order(shape, layouts, found, order);
  bool row_major = true;
  for (int i = 0; i < shape.size(); ++i) row_major &= order[i] == shape.size() - 1 - i;
  return packed(shape, order, row_major ? 1 : 0);
}

Dims like_strides(const NDArray& array) {
  if (array.is_dense()) return array.strides();
  const Layout layout = layout_of(array);
  int order[kMaxDims];
  stride_order(array.shape(), &layout, 1, order);
  return packed(array.shape(), order, 1);
}

void check_writable(const NDArray& out) {
  for (int i = 0; i < out.ndim(); ++i)
    if (out.shape()[i] > 1 && out.strides()[i] == 0 && out.numel() > 0)
      throw RuntimeError(
          "unsupported operation: more than one element of the written-to tensor refers to a "
          "single memory location. Please clone() the tensor before performing the operation. "
          "(shape ",
          out.shape(), ", strides ", out.strides(), ")");
  before_write(out);
}

bool check_overlap(const NDArray& out, const NDArray& input) {
  const Overlap overlap = overlap_of(out, input);
  if (overlap == Overlap::Some) throw_overlap();
  return overlap == Overlap::Unknown;
}

namespace {

// The element of a 0-d array of the host, for a launch that writes `out`.
Scalar number_in(const NDArray& x, const NDArray& out) {
  note_number(x, out);
  Scalar number = Scalar::of_int(0);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T value = read<T>(x.data());
    if constexpr (std::is_same_v<T, bool>)
      number = Scalar::of_bool(value);
    else if constexpr (is_float_type<T>)
      number = Scalar::of_double(static_cast<double>(value));
    else
      number = Scalar::of_int(value);
  });
  return number;
}

}  // namespace

Iter::Iter(const NDArray& out, const Operand* inputs, int input_count, DType compute, DType result)
    : compute(compute), result(result) {
  const Dims& full = out.shape();
  const NDArray* arrays[kMaxOperands] = {&out};
  const int found = 1 + collect(inputs, input_count, arrays + 1);
  int order[kMaxDims];
  numel = out.numel();
  bool flat = true;  // the common case, and an empty one, need no sorting and no merging
  for (int i = 0; i < found && numel > 0; ++i)
    flat &= arrays[i]->is_contiguous() && arrays[i]->shape() == full;
  if (flat) {
    ndim = 1;
    shape[0] = numel;
  } else {
    Layout layouts[kMaxOperands];
    for (int i = 0; i < found; ++i) layouts[i] = layout_of(*arrays[i]);
    stride_order(full, layouts, found, order);
    ndim = full.size();
    for (int i = 0; i < ndim; ++i) shape[i] = full[order[i]];
  }
  add(out, full, flat ? nullptr : order);
  for (int i = 0; i < input_count; ++i) {
    const NDArray* const array = as_array(inputs[i]);
    if (array && &array->device() == &out.device()) {
      add(*array, full, flat ? nullptr : order);
      continue;
    }
    Entry& entry = operands[count++];
    entry.data = numbers[i].bytes;
    entry.dtype = compute;
    std::fill_n(entry.strides, std::max(ndim, 1), 0);
    if (!array)
      numbers[i].take(std::get<Scalar>(inputs[i]), compute);
    else if (array->ndim() == 0 && array->device().on_host)
      numbers[i].take(number_in(*array, out), compute);
    else
      throw_mixed(out.device(), array->device());
  }
  if (!flat) merge_dims();
}

void Iter::add(const NDArray& array, const Dims& full, const int* order) {
  Entry& entry = operands[count++];
  entry.data = array.data();
  entry.dtype = array.dtype();
  const int64_t size = itemsize(array.dtype());
  if (!order) entry.strides[0] = size;
  for (int i = 0; order && i < ndim; ++i)
    entry.strides[i] = broadcast_stride(layout_of(array), full, order[i]) * size;
}

void Iter::merge_dims() {
  int merged = 0;  // dims kept so far
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 1) continue;
    bool joins = merged > 0;
    for (int k = 0; k < count && joins; ++k)
      joins = operands[k].strides[i] == operands[k].strides[merged - 1] * shape[merged - 1];
    if (joins) {
      shape[merged - 1] *= shape[i];
      continue;
    }
    shape[merged] = shape[i];
    for (int k = 0; k < count; ++k) operands[k].strides[merged] = operands[k].strides[i];
    ++merged;
  }
  if (merged == 0) {  // a single element
    shape[0] = numel;
    for (int k = 0; k < count; ++k) operands[k].strides[0] = itemsize(operands[k].dtype);
    merged = 1;
  }
  ndim = merged;
}

}  // namespace tt
