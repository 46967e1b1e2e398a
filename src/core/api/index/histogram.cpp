#include "core/api/index/histogram.h"

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/index/gather.h"
#include "core/api/reduce.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/histogram.h"

namespace tt {

NDArray bincount(const NDArray& x, const NDArray* weights, int64_t minlength) {
  constexpr const char* kOnlyCounts = "bincount only supports 1-d non-negative integral inputs.";
  if (minlength < 0) throw RuntimeError("minlength should be >= 0");
  if (x.ndim() == 1 && x.numel() == 0)
    return new_full(x, {minlength}, Scalar::of_int(0), DType::Int64);
  if (x.ndim() != 1) throw RuntimeError(kOnlyCounts);
  if (category(x.dtype()) != Category::Int) throw not_implemented("bincount", x.dtype());
  if (weights && weights->shape() != x.shape())
    throw RuntimeError("weights should be 1-d and have the same length as input");
  const NDArray numbers = contiguous(converted(x, DType::Int64));
  auto extreme = [&](Reduce op) {
    return HostElements<int64_t>(reduce(op, numbers, std::nullopt, false, std::nullopt))[0];
  };
  if (extreme(Reduce::amin) < 0) throw RuntimeError(kOnlyCounts);
  const int64_t size = std::max(checked_add(extreme(Reduce::amax), 1, "bincount"), minlength);
  if (weights) {
    const DType dtype = weights->dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
    const NDArray out = new_full(x, {size}, Scalar::of_double(0), dtype),
                  sums = converted(*weights, dtype);
    scatter(out, 0, numbers, &sums, static_cast<int64_t>(Place::Add), false);
    return out;
  }
  NDArray out = new_full(x, {size}, Scalar::of_int(0), DType::Int64);
  const WithoutGil unlocked(x.numel() > kGilGrain);
  launch(x)(backend_of(x).histogram->count, numbers.data(), x.numel(), data_of<int64_t>(out), size);
  return out;
}

NDArray histogram(const NDArray& x, const NDArray& edges, const NDArray* weights, bool uniform,
                  bool exact) {
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    throw NotImplementedError("[histogram] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  if (edges.dtype() != x.dtype() || (weights && weights->dtype() != x.dtype()))
    throw RuntimeError("[histogram] expected edges and weights of dtype ", x.dtype());
  if (edges.ndim() != 1 || edges.numel() < 2)
    throw RuntimeError("[histogram] expected at least two edges, got ", edges.shape());
  if (weights && weights->numel() != x.numel())
    throw RuntimeError("[histogram] expected as many weights as elements, got ", weights->numel(),
                       " and ", x.numel());
  const NDArray flat = contiguous(x), bounds = contiguous(edges);
  const NDArray weight = weights ? contiguous(*weights) : flat;
  const NDArray out = x.new_empty({bounds.numel() - 1}, x.dtype());
  const WithoutGil unlocked(x.numel() > kGilGrain);
  launch(x)(backend_of(x).histogram->histogram,
            {x.dtype(), flat.data(), weights ? weight.data() : nullptr, x.numel(), bounds.data(),
             out.numel(), uniform, exact, out.data()});
  return out;
}

}  // namespace tt
