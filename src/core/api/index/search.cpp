#include "core/api/index/search.h"

#include "core/api/cast.h"
#include "core/api/index/gather.h"
#include "core/devices/launch.h"
#include "core/tables/search.h"

namespace tt {

namespace {

void check_sorter(const NDArray& boundaries, const NDArray& sorter) {
  if (sorter.shape() != boundaries.shape())
    throw RuntimeError(
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
        "tensor ",
        boundaries.shape(), "and got sorter tensor ", sorter.shape());
  if (sorter.dtype() != DType::Int64)
    throw RuntimeError("torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
                       sorter.dtype());
}

}  // namespace

NDArray searchsorted(const NDArray& given, const NDArray& values, bool right, bool int32,
                     const NDArray* sorter, const NDArray* wanted) {
  if (given.dtype() != values.dtype())
    throw RuntimeError("[searchsorted] expected values of dtype ", given.dtype(), ", got ",
                       values.dtype());
  if (sorter) check_sorter(given, *sorter);
  const NDArray boundaries = contiguous(given), flat = contiguous(values);
  const NDArray order = sorter ? contiguous(*sorter) : boundaries;
  const int64_t size = boundaries.shape().back(), rows = size ? boundaries.numel() / size : 1;
  if (sorter && !are_inside(order, size))
    throw RuntimeError("torch.searchsorted(): sorter index out of range");
  if (given.dtype() == DType::Bool && values.numel() > 0)
    throw NotImplementedError("[searchsorted] is not implemented for bool on ",
                              given.device().name);
  NDArray out = result_in(wanted, values.shape(), int32 ? DType::Int32 : DType::Int64,
                          given.device(), {&boundaries, &flat, &order});
  if (out.numel() == 0) return out;
  launch(given)(backend_of(given).search->searchsorted,
                {given.dtype(), rows, size, values.numel() / rows, boundaries.data(), flat.data(),
                 sorter ? order.data() : nullptr, right, int32, out.data()});
  return out;
}

NDArray isin(const NDArray& x, const NDArray& others, bool invert, const NDArray* wanted) {
  if (x.dtype() != others.dtype())
    throw RuntimeError("[isin] expected others of dtype ", x.dtype(), ", got ", others.dtype());
  const NDArray flat = contiguous(x), flat_others = contiguous(others);
  NDArray out = result_in(wanted, x.shape(), DType::Bool, x.device(), {&flat, &flat_others});
  launch(x)(backend_of(x).search->isin, {x.dtype(), flat.data(), flat_others.data(), flat.numel(),
                                         flat_others.numel(), invert, data_of<bool>(out)});
  return out;
}

}  // namespace tt
