#include "core/api/index.h"

#include <cstring>
#include <optional>

#include "core/api/copy.h"
#include "core/iter.h"
#include "core/promote.h"
#include "core/walker.h"

namespace tt {

namespace {

// Calls body(T{}) with the dtype's C++ type.
template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    body(type{});                     \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

// An unsigned integer as wide as the elements: enough to move them.
template <class Body>
void with_size(size_t size, Body&& body) {
  switch (size) {
    case 1:
      body(uint8_t{});
      break;
    case 2:
      body(uint16_t{});
      break;
    case 4:
      body(uint32_t{});
      break;
    case 8:
      body(uint64_t{});
      break;
  }
}

template <class T>
void add_to(char* to, T value) {
  if constexpr (std::is_same_v<T, bool>)
    write<T>(to, read<T>(to) || value);
  else if constexpr (is_half_type<T>)
    write<T>(to, T(read<T>(to) + value));
  else
    write<T>(to, static_cast<T>(read<T>(to) + value));
}

int64_t checked(int64_t i, int64_t size, int dim) {
  if (i < -size || i >= size)
    throw IndexError("index ", i, " is out of bounds for dimension ", dim, " with size ", size);
  return i < 0 ? i + size : i;
}

// ------------------------------------------------------------------------------ gather and scatter
struct AlongDim {
  int dim;
  NDArray index, slots;  // int64; x with `dim` at index 0, cut to the index's shape
  int64_t size, stride;  // of x along dim

  AlongDim(const char* op, const NDArray& x, int64_t wanted, const NDArray& index_in,
           const NDArray* source)
      : dim(wrap_dim(wanted, x.ndim())),
        index(index_in),
        slots(x),
        size(x.ndim() ? x.shape()[dim] : 1),
        stride(x.ndim() ? x.strides()[dim] : 0) {
    if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
      throw RuntimeError(op, "(): Expected dtype int32/int64 for index, got ", index.dtype());
    if (index.numel() == 0) return;
    if (index.ndim() != x.ndim() || (source && source->ndim() != x.ndim())) {
      if (std::max(index.ndim(), 1) != std::max(x.ndim(), 1) ||
          (source && std::max(source->ndim(), 1) != std::max(x.ndim(), 1)))
        throw RuntimeError("Index tensor must have the same number of dimensions as ",
                           source ? "self and src" : "input", " tensor: index ", index.shape(),
                           ", input ", x.shape());
    }
    // A copy where a write to x would change it after its bounds were checked.
    if (index.dtype() != DType::Int64 || index.storage() == x.storage())
      index = astype(index, DType::Int64);
    auto size_at = [](const NDArray& array, int d) { return array.ndim() ? array.shape()[d] : 1; };
    for (int d = 0; d < std::max(x.ndim(), 1); ++d) {
      const int64_t n = size_at(index, d);
      if ((d != dim && n > size_at(x, d)) || (source && n > size_at(*source, d)))
        throw RuntimeError("Size does not match at dimension ", d, " expected index ",
                           index.shape(), " to be no larger than self ", x.shape(),
                           " apart from dimension ", dim,
                           source ? format(" and to be no larger size than src ", source->shape())
                                  : std::string());
    }
    check_bounds();
    if (x.ndim() == 0) {
      slots = x.expand(index.shape());
    } else {
      Dims strides = x.strides();
      strides[dim] = 0;
      if (index.ndim() == 0) strides.erase(0);
      slots = x.as_strided(index.shape(), strides, x.offset());
    }
  }

  void check_bounds() const {
    Walker<1> walker(index.shape(), {index.strides()});
    const char* const data = index.data();
    for (int64_t n = index.numel(); n > 0; --n, walker.advance())
      if (const int64_t i = read<int64_t>(data + walker.offset() * 8); i < 0 || i >= size)
        throw RuntimeError("index ", i, " is out of bounds for dimension ", dim, " with size ",
                           size);
  }

  // body(element of x, element of `other`) for every element of the index, in row-major order.
  template <class Body>
  void for_each(const NDArray& other, Body&& body) const {
    const int64_t item = itemsize(slots.dtype());
    Dims other_strides = other.strides();
    if (other.ndim() > index.ndim()) other_strides.erase(0);
    if (other.ndim() < index.ndim()) other_strides.push_back(0);
    Walker<3> walker(index.shape(), {index.strides(), slots.strides(), other_strides});
    const char* const data = index.data();
    char* const x = slots.data();
    char* const values = other.data();
    for (int64_t n = index.numel(); n > 0; --n, walker.advance())
      body(x + (walker.offset(1) + read<int64_t>(data + walker.offset(0) * 8) * stride) * item,
           values + walker.offset(2) * item);
  }
};

// The source as it was before x is written.
NDArray checked_source(const char* op, const NDArray& x, const NDArray& source) {
  if (x.dtype() != source.dtype())
    throw RuntimeError(op, "(): Expected self.dtype to be equal to src.dtype, got ", x.dtype(),
                       " and ", source.dtype());
  check_writable(x);
  return source.storage() == x.storage() ? clone(source) : source;
}

}  // namespace

NDArray gather(const NDArray& x, int64_t dim, const NDArray& index) {
  const AlongDim along("gather", x, dim, index, nullptr);
  NDArray out = NDArray::empty(index.shape(), x.dtype());
  with_size(itemsize(x.dtype()), [&](auto type) {
    using T = decltype(type);
    along.for_each(out, [](char* from, char* to) { write<T>(to, read<T>(from)); });
  });
  return out;
}

void scatter(const NDArray& x, int64_t dim, const NDArray& index, const NDArray& from) {
  const NDArray source = checked_source("scatter", x, from);
  const AlongDim along("scatter", x, dim, index, &source);
  with_size(itemsize(x.dtype()), [&](auto type) {
    using T = decltype(type);
    along.for_each(source, [](char* to, char* item) { write<T>(to, read<T>(item)); });
  });
  x.mark_written();
}

void scatter_add(const NDArray& x, int64_t dim, const NDArray& index, const NDArray& from) {
  const NDArray source = checked_source("scatter_add", x, from);
  const AlongDim along("scatter_add", x, dim, index, &source);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    along.for_each(source, [](char* to, char* item) { add_to<T>(to, read<T>(item)); });
  });
  x.mark_written();
}

// ------------------------------------------------------------------------------------- x[indices]
namespace {

// Masks become the integer indices of their true elements.
std::vector<std::optional<NDArray>> expand_masks(const NDArray& x,
                                                 const std::vector<const NDArray*>& indices) {
  std::vector<std::optional<NDArray>> result;
  for (const NDArray* index : indices) {
    if (!index) {
      result.push_back(std::nullopt);
    } else if (index->dtype() == DType::Bool || index->dtype() == DType::UInt8) {
      for (int d = 0; d < index->ndim(); ++d) {
        const int at = static_cast<int>(result.size()) + d;
        if (at >= x.ndim() || index->shape()[d] != x.shape()[at])
          throw IndexError("The shape of the mask ", index->shape(), " at index ", d,
                           " does not match the shape of the indexed tensor ", x.shape(),
                           " at index ", at);
      }
      const NDArray where = nonzero(*index);
      for (int d = 0; d < index->ndim(); ++d) result.push_back(where.select(1, d));
    } else if (index->dtype() == DType::Int64) {
      result.push_back(*index);
    } else if (index->dtype() == DType::Int32) {
      result.push_back(astype(*index, DType::Int64));
    } else {
      throw IndexError("tensors used as indices must be long, int, byte or bool tensors, got ",
                       index->dtype());
    }
  }
  if (static_cast<int>(result.size()) > x.ndim())
    throw IndexError("too many indices for tensor of dimension ", x.ndim(), " (got ", result.size(),
                     ")");
  return result;
}

// x[indices] as a strided copy: the result's dims are `before`, the index dims, `after`.
struct Indexed {
  Dims before, before_strides, after, after_strides;  // dims of x that are kept, elements
  Dims index_shape;
  std::vector<NDArray> whole;    // the indices, broadcast
  std::vector<int64_t> offsets;  // one per position of the index, in elements from x.data()

  Indexed(const NDArray& x, const std::vector<const NDArray*>& raw) {
    std::vector<std::optional<NDArray>> indices = expand_masks(x, raw);
    int first = -1, last = -1, count = 0;
    for (int i = 0; i < static_cast<int>(indices.size()); ++i) {
      if (!indices[i]) continue;
      if (first < 0) first = i;
      last = i;
      ++count;
      try {
        index_shape =
            count == 1 ? indices[i]->shape() : broadcast(index_shape, indices[i]->shape());
      } catch (const RuntimeError&) {
        throw IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with "
            "shapes ",
            index_shape, ", ", indices[i]->shape());
      }
    }
    const bool adjacent = count == 0 || last - first + 1 == count;
    for (int d = 0; d < x.ndim(); ++d) {
      if (d < static_cast<int>(indices.size()) && indices[d]) continue;
      const bool leads = adjacent && d < first;
      (leads ? before : after).push_back(x.shape()[d]);
      (leads ? before_strides : after_strides).push_back(x.strides()[d]);
    }
    offsets.assign(checked_numel(index_shape, "index"), 0);
    for (int d = 0; d < static_cast<int>(indices.size()); ++d) {
      if (!indices[d]) continue;
      const NDArray index = indices[d]->expand(index_shape);
      const char* const data = index.data();
      Walker<1> walker(index_shape, {index.strides()});
      for (int64_t& offset : offsets) {
        const int64_t i = checked(read<int64_t>(data + walker.offset() * 8), x.shape()[d], d);
        offset += i * x.strides()[d];
        walker.advance();
      }
      whole.push_back(index);
    }
  }

  Dims shape() const {
    Dims result = before;
    for (const Dims* part : {&index_shape, &after})
      for (int64_t size : *part) result.push_back(size);
    return result;
  }

  // The strides of x[indices]: those of an elementwise op of x, seen in the result's shape, and the
  // indices, which have sizes of 1 along the dims that are not theirs.
  Dims strides(const NDArray& x) const {
    auto joined = [](Dims first, const Dims& second, const Dims& third) {
      for (const Dims* part : {&second, &third})
        for (int64_t value : *part) first.push_back(value);
      return first;
    };
    const int b = before.size(), i = index_shape.size(), a = after.size();
    std::vector<NDArray> seen = {
        x.as_strided(shape(), joined(before_strides, Dims(i, 0), after_strides), x.offset())};
    for (const NDArray& index : whole)
      if (static_cast<int>(seen.size()) < Iter::kMaxOperands)
        seen.push_back(index.view(joined(Dims(b, 1), index_shape, Dims(a, 1))));
    Operand operands[Iter::kMaxOperands];
    const int count = seen.size();
    for (int k = 0; k < count; ++k) operands[k] = &seen[k];
    return result_strides(shape(), operands, count, x.dtype(), count);
  }

  // body(x's elements, other's elements, n, x's stride, other's stride) for runs along the last
  // dim; `other` has shape().
  template <class Body>
  void for_each_run(const NDArray& x, const NDArray& other, Body&& body) const {
    if (other.numel() == 0) return;
    const int b = before.size(), i = index_shape.size(), a = after.size();
    Dims other_before, other_index, other_after;
    for (int d = 0; d < other.ndim(); ++d)
      (d < b ? other_before : d < b + i ? other_index : other_after).push_back(other.strides()[d]);
    const int64_t item = itemsize(x.dtype());
    char* const to = other.data();
    char* const from = x.data();
    Walker<2> lead(before, {before_strides, other_before});
    int64_t leads = 1, tail = 1;
    for (int64_t size : before) leads *= size;
    for (int64_t size : after) tail *= size;
    for (; leads > 0; --leads, lead.advance()) {
      Walker<1> position(index_shape, {other_index});
      for (int64_t offset : offsets) {
        Walker<2> rest(after, {after_strides, other_after});
        for (int64_t done = 0; done < tail;) {
          const int64_t n = a ? rest.run() : 1;
          body(from + (lead.offset(0) + offset + rest.offset(0)) * item,
               to + (lead.offset(1) + position.offset() + rest.offset(1)) * item, n,
               rest.run_stride(0) * item, rest.run_stride(1) * item);
          rest.advance(n);
          done += n;
        }
        position.advance();
      }
    }
  }
};

}  // namespace

NDArray index(const NDArray& x, const std::vector<const NDArray*>& indices) {
  const Indexed indexed(x, indices);
  NDArray out = NDArray::empty_strided(indexed.shape(), indexed.strides(x), x.dtype());
  with_size(itemsize(x.dtype()), [&](auto type) {
    using T = decltype(type);
    indexed.for_each_run(x, out, [](char* from, char* to, int64_t n, int64_t stride, int64_t step) {
      if (stride == sizeof(T) && step == sizeof(T)) {
        std::memcpy(to, from, n * sizeof(T));
        return;
      }
      for (; n > 0; --n, from += stride, to += step) write<T>(to, read<T>(from));
    });
  });
  return out;
}

void index_put(const NDArray& x, const std::vector<const NDArray*>& indices, const NDArray& values,
               bool accumulate) {
  if (x.dtype() != values.dtype())
    throw RuntimeError("Index put requires the source and destination dtypes match, got ",
                       x.dtype(), " for the destination and ", values.dtype(), " for the source.");
  check_writable(x);
  const Indexed indexed(x, indices);
  const Dims shape = indexed.shape();
  Dims from_shape = values.shape();
  while (from_shape.size() > shape.size() && from_shape[0] == 1) from_shape.erase(0);
  bool fits = from_shape.size() <= shape.size();
  for (int i = 1; fits && i <= from_shape.size(); ++i) {
    const int64_t own = from_shape[from_shape.size() - i];
    fits = own == 1 || own == shape[shape.size() - i];
  }
  if (!fits)
    throw RuntimeError("shape mismatch: value tensor of shape ", values.shape(),
                       " cannot be broadcast to indexing result of shape ", shape);
  NDArray source = values.storage() == x.storage() ? clone(values) : values;
  if (from_shape != source.shape()) source = source.view(from_shape);
  source = source.expand(shape);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    indexed.for_each_run(
        x, source, [=](char* to, char* from, int64_t n, int64_t stride, int64_t step) {
          for (; n > 0; --n, to += stride, from += step)
            accumulate ? add_to<T>(to, read<T>(from)) : write<T>(to, read<T>(from));
        });
  });
  x.mark_written();
}

NDArray nonzero(const NDArray& x) {
  const NDArray mask = x.dtype() == DType::Bool ? x : astype(x, DType::Bool);
  const NDArray flat = contiguous(mask);
  const char* data = flat.data();
  int64_t count = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) count += data[i] != 0;
  // As in PyTorch each dim's positions lie together: they are read one dim at a time.
  NDArray out = NDArray::empty_strided({count, x.ndim()}, {1, count}, DType::Int64);
  int64_t* to = reinterpret_cast<int64_t*>(out.data());
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if (data[i] == 0) continue;
    int64_t rest = i;
    for (int d = x.ndim() - 1; d >= 0; --d) {
      to[d * count] = rest % x.shape()[d];
      rest /= x.shape()[d];
    }
    ++to;
  }
  return out;
}

NDArray concatenate(const std::vector<const NDArray*>& arrays, int64_t dim) {
  if (arrays.empty()) throw RuntimeError("torch.cat(): expected a non-empty list of Tensors");
  // A 1-d array without elements joins anything, as in PyTorch.
  auto skipped = [](const NDArray& x) { return x.ndim() == 1 && x.numel() == 0; };
  const NDArray* first = nullptr;
  Promotion promotion;
  for (const NDArray* x : arrays) {
    if (!x) throw TypeError("[cat] expected NDArrays, got None");
    if (x->ndim() == 0)
      throw RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated");
    promotion.add(x->dtype(), x->ndim());
    if (!first && !skipped(*x)) first = x;
  }
  if (!first) first = arrays[0];
  const int d = wrap_dim(dim, first->ndim());
  Dims shape = first->shape();
  shape[d] = 0;
  int position = 0;
  for (const NDArray* x : arrays) {
    if (!skipped(*x)) {
      if (x->ndim() != first->ndim())
        throw RuntimeError("Tensors must have same number of dimensions: got ", first->ndim(),
                           " and ", x->ndim());
      for (int i = 0; i < shape.size(); ++i)
        if (i != d && x->shape()[i] != shape[i])
          throw RuntimeError("Sizes of tensors must match except in dimension ", d,
                             ". Expected size ", shape[i], " but got size ", x->shape()[i],
                             " for tensor number ", position, " in the list.");
      if (__builtin_add_overflow(shape[d], x->shape()[d], &shape[d]))
        throw RuntimeError("[cat] the size of dimension ", d, " overflows");
    }
    ++position;
  }
  NDArray out = NDArray::empty(shape, promotion.result());
  int64_t start = 0;
  for (const NDArray* x : arrays) {
    if (skipped(*x)) continue;
    const int64_t size = x->shape()[d];
    if (x->numel() > 0) copy_into(out.slice(d, start, start + size, 1), x);
    start += size;
  }
  return out;
}

}  // namespace tt
