#include "core/api/scan.h"

#include "core/api/cast.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/scan.h"

namespace tt {

namespace {

// Scans a non-empty x along a dim. `factors` has its shape, and may be null.
void scan(void (*kernel)(const ScanArgs&), const NDArray& x, int64_t wanted, const NDArray& out,
          bool reverse = false, const NDArray* indices = nullptr,
          const NDArray* factors = nullptr) {
  const int dim = wrap_dim(wanted, x.ndim());
  Dims shape{1, 1, 1};
  for (int d = 0; d < x.ndim(); ++d) shape[d < dim ? 0 : d == dim ? 1 : 2] *= x.shape()[d];
  if (x.numel() == 0) return;
  const NDArray lines = reshape(x, shape);
  Dims strides = lines.strides();
  for (int64_t& stride : strides) stride *= itemsize(x.dtype());
  const std::optional<NDArray> a = prepared(factors, x.dtype());
  const WithoutGil unlocked(x.numel() > kGilGrain);
  launch(x)(kernel, ScanArgs{x.dtype(), shape[0], shape[1], shape[2], lines.data(), strides,
                             out.data(), data_of<int64_t>(indices), data_of(a), reverse});
}

NDArray accumulate(const char* name, void (*kernel)(const ScanArgs&), const NDArray& x, int64_t dim,
                   std::optional<DType> given, bool reverse, const NDArray* wanted) {
  const DType dtype = given.value_or(is_floating(x.dtype()) ? x.dtype() : DType::Int64);
  if (dtype == DType::Bool) throw not_implemented(name, dtype);
  const NDArray source = converted(x, dtype);
  if (dtype == DType::Float16)  // whose conversion takes vectors, which no scan has
    return astype(accumulate(name, kernel, source, dim, DType::Float32, reverse, nullptr), dtype,
                  wanted);
  wrap_dim(dim, x.ndim());
  NDArray out = result_in(wanted, x.shape(), dtype, x.device(), {&x});
  scan(kernel, source, dim, out, reverse);
  return out;
}

std::vector<NDArray> extreme(void (*kernel)(const ScanArgs&), const NDArray& x, int64_t dim,
                             const Outs& outs) {
  wrap_dim(dim, x.ndim());
  std::vector<NDArray> out{result_in(outs[0], x.shape(), x.dtype(), x.device(), {&x})};
  out.push_back(result_in(outs[1], x.shape(), DType::Int64, x.device(), {&x, &out[0]}));
  scan(kernel, x, dim, out[0], false, &out[1]);
  return out;
}

}  // namespace

NDArray cumsum(const NDArray& x, int64_t dim, std::optional<DType> dtype, bool reverse,
               const NDArray* out) {
  return accumulate("cumsum", backend_of(x).scan->sum, x, dim, dtype, reverse, out);
}
NDArray cumprod(const NDArray& x, int64_t dim, std::optional<DType> dtype, const NDArray* out) {
  return accumulate("cumprod", backend_of(x).scan->product, x, dim, dtype, false, out);
}
NDArray logcumsumexp(const NDArray& x, int64_t dim, const NDArray* out) {
  check_floating("logcumsumexp", x.dtype());
  return accumulate("logcumsumexp", backend_of(x).scan->logsumexp, x, dim, x.dtype(), false, out);
}
std::vector<NDArray> cummax(const NDArray& x, int64_t dim, const Outs& outs) {
  return extreme(backend_of(x).scan->maximum, x, dim, outs);
}
std::vector<NDArray> cummin(const NDArray& x, int64_t dim, const Outs& outs) {
  return extreme(backend_of(x).scan->minimum, x, dim, outs);
}

NDArray linear_scan(const NDArray& x, const NDArray& factors, int64_t dim, bool reverse) {
  check_floating("linear_scan", x.dtype());
  if (x.shape() != factors.shape() || x.dtype() != factors.dtype())
    throw RuntimeError("[linear_scan] expected two arrays of one shape and dtype, got ", x.shape(),
                       " and ", factors.shape());
  NDArray out = x.new_empty(x.shape(), x.dtype());
  scan(backend_of(x).scan->linear, x, dim, out, reverse, nullptr, &factors);
  return out;
}

}  // namespace tt
