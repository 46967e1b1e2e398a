#include "core/api/index/brackets.h"

#include <optional>

#include "core/api/cast.h"
#include "core/api/elementwise.h"
#include "core/api/index/masks.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/memory/before_write.h"
#include "core/shapes.h"
#include "core/tables/gather.h"

namespace tt {

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

// x[indices]: the result's dims are `before`, the index dims, `after`.
struct Indexed {
  const NDArray& x;
  Dims before, before_strides, after, after_strides;  // dims of x that are kept
  Dims index_shape;
  Dims shape, flat_shape;      // of the result, and with one dim for those of the index
  std::vector<NDArray> whole;  // the indices, broadcast
  std::vector<int> dims;       // of x that they index

  Indexed(const NDArray& x, const std::vector<const NDArray*>& raw) : x(x) {
    std::vector<std::optional<NDArray>> indices = expand_masks(x, raw);
    for (int d = 0; d < static_cast<int>(indices.size()); ++d) {
      if (!indices[d]) continue;
      try {
        index_shape =
            dims.empty() ? indices[d]->shape() : broadcast(index_shape, indices[d]->shape());
      } catch (const RuntimeError&) {
        throw IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with "
            "shapes ",
            index_shape, ", ", indices[d]->shape());
      }
      dims.push_back(d);
    }
    const int count = dims.size();
    const bool adjacent = count == 0 || dims.back() - dims.front() + 1 == count;
    for (int d = 0; d < x.ndim(); ++d) {
      if (d < static_cast<int>(indices.size()) && indices[d]) continue;
      const bool leads = adjacent && count > 0 && d < dims.front();
      (leads ? before : after).push_back(x.shape()[d]);
      (leads ? before_strides : after_strides).push_back(x.strides()[d]);
    }
    const int64_t positions = checked_numel(index_shape, "index");
    for (int d : dims) {
      if (x.shape()[d] == 0 && positions > 0)
        throw IndexError("index is out of bounds for dimension with size 0");
      whole.push_back(indices[d]->expand(index_shape));
    }
    shape = joined(joined(before, index_shape), after);
    flat_shape = joined(joined(before, {positions}), after);
  }

  // The strides of x[indices]: those of an elementwise op of x, seen in the result's shape, and the
  // indices, which have sizes of 1 along the dims that are not theirs.
  Dims strides() const {
    const int b = before.size(), i = index_shape.size(), a = after.size();
    const Dims strides = joined(joined(before_strides, Dims(i, 0)), after_strides);
    std::vector<NDArray> seen = {x.as_strided(shape, strides, x.offset())};
    for (const NDArray& index : whole)
      if (static_cast<int>(seen.size()) < Iter::kMaxOperands)
        seen.push_back(index.view(joined(joined(Dims(b, 1), index_shape), Dims(a, 1))));
    Operand operands[Iter::kMaxOperands];
    const int count = seen.size();
    for (int k = 0; k < count; ++k) operands[k] = &seen[k];
    return result_strides(shape, operands, count, x.dtype(), count);
  }

  // Calls body with the elements of x and of `other`, which has flat_shape: as lines along a dim
  // whose positions are those of a single index, or the offsets that several add up to.
  template <class Body>
  void along(const NDArray& other, Body&& body) const {
    AlongArgs args{};
    args.dtype = x.dtype();
    args.is_dense = x.is_dense();
    const int along = before.size();
    args.count = other.shape()[along];
    args.other_step = other.strides()[along];
    args.other_lines = without(other.strides(), along);
    args.lines = joined(before, after);
    args.x_lines = joined(before_strides, after_strides);
    args.index_lines = Dims(args.lines.size(), 0);
    args.x = x.data();
    args.other = other.data();
    // A copy where a write to x would change them.
    NDArray positions = contiguous(apart(whole[0], x));
    args.index_step = 1;
    args.size = x.shape()[dims[0]];
    args.stride = x.strides()[dims[0]];
    args.wraps = true;
    bool fine = true;
    if (whole.size() == 1) {
      args.index = positions.data();
      fine = launch(x)(backend_of(x).gather->inside, args);
    } else {
      positions = x.new_empty(index_shape, DType::Int64);
      for (size_t k = 0; k < whole.size(); ++k)
        fine &= launch(x)(backend_of(x).gather->offsets, data_of<int64_t>(positions), k == 0,
                          index_shape, whole[k].strides(), whole[k].data(), x.shape()[dims[k]],
                          x.strides()[dims[k]]);
      args.index = positions.data();
      args.size = reach();
      args.stride = 1;
      args.wraps = false;
    }
    if (other.numel() == 0)
      return;  // nothing is looked up, as in PyTorch: not even what is outside
    if (!fine) throw_outside();
    body(args);
  }

 private:
  int64_t reach() const {
    int64_t last = 0;
    for (int d : dims) last += (x.shape()[d] - 1) * x.strides()[d];
    return last + 1;
  }

  [[noreturn]] void throw_outside() const {
    for (size_t k = 0; k < whole.size(); ++k) {
      const int64_t size = x.shape()[dims[k]];
      const HostElements<int64_t> positions(whole[k]);
      for (int64_t n = 0; n < positions.size(); ++n) {
        if (positions[n] < -size || positions[n] >= size)
          throw IndexError("index ", positions[n], " is out of bounds for dimension ", dims[k],
                           " with size ", size);
      }
    }
    throw IndexError("index is out of bounds");
  }
};

// A mask that alone picks single elements.
bool is_whole_mask(const NDArray& x, const std::vector<const NDArray*>& indices) {
  return indices.size() == 1 && indices[0] && indices[0]->dtype() == DType::Bool &&
         indices[0]->shape() == x.shape();
}

}  // namespace

NDArray index(const NDArray& x, const std::vector<const NDArray*>& indices) {
  if (is_whole_mask(x, indices) && x.ndim() > 0) return masked_select(x, *indices[0]);
  const Indexed indexed(x, indices);
  if (indexed.dims.empty()) return clone(x);
  NDArray out = x.new_empty_strided(indexed.shape, indexed.strides(), x.dtype());
  const std::optional<NDArray> flat = out.try_view(indexed.flat_shape);
  NDArray to = flat ? *flat : x.new_empty(indexed.flat_shape, x.dtype());
  indexed.along(to, [&](const AlongArgs& args) { launch(x)(backend_of(x).gather->pick, args); });
  if (flat) return out;
  to = to.view(out.shape());
  copy_into(out, &to);
  return out;
}

void index_put(const NDArray& x, const std::vector<const NDArray*>& indices, const NDArray& values,
               bool accumulate) {
  if (x.dtype() != values.dtype())
    throw RuntimeError("Index put requires the source and destination dtypes match, got ",
                       type_name(x.dtype()), " for the destination and ", type_name(values.dtype()),
                       " for the source.");
  const Indexed indexed(x, indices);
  const Dims& shape = indexed.shape;
  Dims from_shape = values.shape();
  while (from_shape.size() > shape.size() && from_shape[0] == 1) from_shape.erase(0);
  NDArray source = apart(values, x);
  try {
    source = source.view(from_shape).expand(shape);
  } catch (const RuntimeError&) {
    throw RuntimeError("shape mismatch: value tensor of shape ", values.shape(),
                       " cannot be broadcast to indexing result of shape ", shape);
  }
  if (indexed.dims.empty()) {
    if (accumulate)
      binary(Binary::add, &x, &source, &x);
    else
      copy_into(x, &source);
    return;
  }
  source = reshape(source, indexed.flat_shape);
  before_write(x);
  write_into(x, [&] {
    indexed.along(source, [&](const AlongArgs& args) {
      launch(x)(backend_of(x).gather->place, args, accumulate ? Place::Add : Place::Set);
    });
  });
}

}  // namespace tt
