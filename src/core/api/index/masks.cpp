#include "core/api/index/masks.h"

#include "core/api/cast.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/elementwise.h"
#include "core/tables/masks.h"

namespace tt {

namespace {

// A mask whose true elements have been counted.
struct Counted {
  NDArray flat, starts;
  int64_t total;

  explicit Counted(const NDArray& mask)
      : flat(contiguous(converted(mask, DType::Bool))),
        starts(flat.new_empty({(flat.numel() + kMaskBlock - 1) / kMaskBlock + 1}, DType::Int64)),
        total(launch(flat)(backend_of(flat).masks->mask_count, args())) {}
  MaskArgs args() const { return {flat.data(), flat.numel(), data_of<int64_t>(starts)}; }
};

}  // namespace

NDArray nonzero(const NDArray& x) {
  Counted mask(x);
  // As in PyTorch each dim's positions lie together: they are read one dim at a time.
  NDArray out = x.new_empty_strided({mask.total, x.ndim()}, {1, mask.total}, DType::Int64);
  if (out.numel() > 0)
    launch(x)(backend_of(x).masks->mask_positions, mask.args(), x.shape(), data_of<int64_t>(out));
  return out;
}

NDArray masked_select(const NDArray& x, const NDArray& mask) {
  Counted counted(mask);
  NDArray out = x.new_empty({counted.total}, x.dtype());
  const NDArray flat = contiguous(x);
  launch(x)(backend_of(x).masks->mask_pick, counted.args(), flat.data(), out.data(),
            itemsize(x.dtype()));
  return out;
}

void masked_fill(const NDArray& x, const NDArray& mask, const Operand& value) {
  check_writable(x);
  // Copies of what the write would change while it is read.
  const NDArray spread = apart(mask, x).expand(x.shape());
  std::optional<NDArray> number;
  if (auto array = as_array(value)) number = apart(*array, x);
  const Operand inputs[] = {&spread, number ? Operand(&*number) : value, &x};
  const DType compute = computed_in(x.dtype());
  const auto where = backend_of(x).elementwise->where[static_cast<int>(compute)];
  write_into(x, [&] { launch(x)(where, Iter(x, inputs, 3, compute, compute)); });
}

void masked_scatter(const NDArray& x, const NDArray& mask, const NDArray& source) {
  if (x.dtype() != source.dtype())
    throw RuntimeError("masked_scatter: expected self and source to have same dtypes but got",
                       type_name(x.dtype()), " and ", type_name(source.dtype()));
  if (mask.dtype() != DType::Bool)
    throw RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype ",
                       mask.dtype());
  check_writable(x);
  Counted counted(apart(mask, x).expand(x.shape()));
  if (source.numel() < counted.total)
    throw RuntimeError("Number of elements of source < number of ones in mask");
  const NDArray from = contiguous(apart(source, x));
  const NDArray flat = contiguous(x);
  launch(x)(backend_of(x).masks->mask_place, counted.args(), flat.data(), from.data(),
            itemsize(x.dtype()));
  if (!x.is_contiguous()) copy_into(x, &flat);
  x.mark_written();
}

}  // namespace tt
