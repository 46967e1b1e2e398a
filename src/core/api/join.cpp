#include "core/api/join.h"

#include "core/api/cast.h"
#include "core/api/spatial/nn_layout.h"
#include "core/devices/launch.h"
#include "core/dtypes/promote.h"
#include "core/memory/extent.h"
#include "core/result.h"
#include "core/tables/join.h"

namespace tt {

namespace {

// A 1-d array without elements joins anything, as in PyTorch.
bool is_skipped(const NDArray& x) { return x.ndim() == 1 && x.numel() == 0; }

// Fills `out` row by row, without the machinery of copies, which costs more than few bytes. All are
// contiguous and of one dtype.
void join_rows(const std::vector<const NDArray*>& arrays, int dim, const NDArray& out) {
  int64_t inner = itemsize(out.dtype());
  JoinArgs args{};
  args.rows = 1;
  for (int i = 0; i < out.ndim(); ++i)
    (i < dim ? args.rows : inner) *= i == dim ? 1 : out.shape()[i];
  args.out_row = out.shape()[dim] * inner;
  args.out = out.data();
  auto flush = [&] {
    launch(out)(backend_of(out).join->join, args);
    for (int k = 0; k < args.count; ++k) args.out += args.bytes[k];
    args.count = 0;
  };
  for (const NDArray* x : arrays) {
    if (is_skipped(*x)) continue;
    args.parts[args.count] = x->data();
    args.bytes[args.count++] = x->shape()[dim] * inner;
    if (args.count == JoinArgs::kParts) flush();
  }
  if (args.count) flush();
}

}  // namespace

NDArray concatenate(const std::vector<const NDArray*>& arrays, int64_t dim, const NDArray* wanted) {
  if (arrays.empty()) throw RuntimeError("torch.cat(): expected a non-empty list of Tensors");
  const NDArray* first = nullptr;
  Promotion promotion;
  bool channels_last = true, same_dtype = true;
  for (const NDArray* x : arrays) {
    if (!x) throw TypeError("[cat] expected NDArrays, got None");
    if (x->ndim() == 0)
      throw RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated");
    promotion.add(x->dtype(), x->ndim());
    channels_last = channels_last && x->ndim() > 3 && looks_channels_last(*x);
    if (!first && !is_skipped(*x)) first = x;
  }
  if (!first) first = arrays[0];
  const int d = wrap_dim(dim, first->ndim());
  Dims shape = first->shape();
  shape[d] = 0;
  int position = 0;
  for (const NDArray* x : arrays) {
    if (!is_skipped(*x)) {
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
  const DType dtype = promotion.result();
  for (const NDArray* x : arrays)
    if (wanted && overlaps(*wanted, *x)) wanted = nullptr;
  NDArray out = strided_result_in(wanted, shape, dtype, first->device(), {});
  const bool direct = is_direct(out, wanted);
  if (channels_last && !direct) {
    Dims rows = {shape[0]}, order = {0, shape.size() - 1};
    for (int i = 2; i < shape.size(); ++i) {
      rows.push_back(shape[i]);
      order.push_back(i - 1);
    }
    rows.push_back(shape[1]);
    out = out.view(rows).permute(order);
  }
  for (const NDArray* x : arrays) same_dtype &= x->dtype() == dtype && x->is_contiguous();
  same_dtype &= direct ? out.is_contiguous() : !channels_last;
  constexpr int64_t kSmall = 4096;
  if (same_dtype && out.numel() <= kSmall) {
    join_rows(arrays, d, out);
    return out;
  }
  int64_t start = 0;
  for (const NDArray* x : arrays) {
    if (is_skipped(*x)) continue;
    const int64_t size = x->shape()[d];
    if (x->numel() > 0) copy_into(out.slice(d, start, start + size, 1), x);
    start += size;
  }
  return out;
}

NDArray stack(const std::vector<const NDArray*>& arrays, int64_t dim, const NDArray* out) {
  if (arrays.empty() || !arrays[0]) throw RuntimeError("stack expects a non-empty TensorList");
  Dims shape = arrays[0]->shape();
  const int d = wrap_dim(dim, shape.size() + 1);
  int position = 0;
  for (const NDArray* x : arrays) {
    if (!x || x->shape() != shape)
      throw RuntimeError("stack expects each tensor to be equal size, but got ", shape,
                         " at entry 0 and ", x ? x->shape() : Dims(), " at entry ", position);
    ++position;
  }
  const bool splits = d < shape.size();  // a dim of the result of cat, and else there is none
  shape.insert(d, position);
  if (splits && !out) return concatenate(arrays, d).view(shape);
  std::vector<NDArray> columns;
  std::vector<const NDArray*> pointers;
  for (const NDArray* x : arrays) columns.push_back(x->unsqueeze(d));
  for (const NDArray& column : columns) pointers.push_back(&column);
  return concatenate(pointers, d, out);
}

}  // namespace tt
