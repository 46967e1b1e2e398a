#include "core/api/index/sort.h"

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/iter.h"
#include "core/lines_of.h"
#include "core/shapes.h"
#include "core/tables/sort.h"

namespace tt {

namespace {

// [of the dtype, of int64], uninitialised.
std::vector<NDArray> results(const NDArray& x, const Dims& shape, const Outs& outs) {
  std::vector<NDArray> out{strided_result_in(outs[0], shape, x.dtype(), x.device(), {&x})};
  out.push_back(strided_result_in(outs[1], shape, DType::Int64, x.device(), {&x, &out[0]}));
  return out;
}

// A 0-d array's results: itself, and 0.
std::vector<NDArray> results_of_scalar(const NDArray& x) {
  return {clone(x), new_full(x, {}, Scalar::of_int(0), DType::Int64)};
}

Lines lines_of(const NDArray& x, int dim, const std::vector<NDArray>& out) {
  if (x.shape()[dim] > int64_t{UINT32_MAX})  // positions are the lower half of a word
    throw NotImplementedError("sorting over 2^32 elements is not implemented");
  return lines_of(x.shape(), dim, x.dtype(), {&x, &out[0], &out[1]}, 2);
}

// One result per line, which kernel(lines, settings...) finds.
template <class... Settings>
std::vector<NDArray> reduce_lines(const char* name, const NDArray& x, int64_t wanted, bool keepdim,
                                  const Outs& outs, void (*kernel)(const Lines&, Settings...),
                                  Settings... settings) {
  const int dim = wrap_dim(wanted, x.ndim());
  if (x.ndim() == 0) return results_of_scalar(x);
  check_size(name, dim, x.shape());
  std::vector<NDArray> out = results(x, reduced(x.shape(), dim, keepdim), outs), lines = out;
  if (!keepdim)
    for (NDArray& array : lines) array = array.unsqueeze(dim);
  if (x.numel() > 0) launch(x)(kernel, lines_of(x, dim, lines), settings...);
  return out;
}

void refuse_bool(const char* name, const NDArray& x) {
  if (x.dtype() == DType::Bool) throw not_implemented(name, x.dtype());
}

}  // namespace

std::vector<NDArray> sort(const NDArray& x, int64_t wanted, bool descending, const Outs& outs) {
  const int dim = wrap_dim(wanted, x.ndim());
  if (x.ndim() == 0) return results_of_scalar(x);
  const Dims strides = like_strides(x);
  auto fresh = [&](DType dtype) { return x.new_empty_strided(x.shape(), strides, dtype); };
  std::vector<NDArray> out = outs[0] || outs[1]
                                 ? results(x, x.shape(), outs)
                                 : std::vector{fresh(x.dtype()), fresh(DType::Int64)};
  if (x.numel() > 0) launch(x)(backend_of(x).sort->sort, lines_of(x, dim, out), descending);
  return out;
}

std::vector<NDArray> topk(const NDArray& x, int64_t wanted, int64_t k, bool largest,
                          const Outs& outs) {
  const int dim = wrap_dim(wanted, x.ndim());
  const int64_t size = x.ndim() ? x.shape()[dim] : 1;
  if (k < 0 || k > size) throw RuntimeError("selected index k out of range");
  if (x.dtype() == DType::Bool) throw RuntimeError("topk does not support bool dtypes on CPU");
  if (x.ndim() == 0) return results_of_scalar(x);
  Dims shape = x.shape();
  shape[dim] = k;
  std::vector<NDArray> out = results(x, shape, outs);
  if (out[0].numel() == 0) return out;
  launch(x)(backend_of(x).sort->topk, lines_of(x, dim, out), k, largest);
  return out;
}

std::vector<NDArray> kthvalue(const NDArray& x, int64_t dim, bool keepdim, int64_t k,
                              const Outs& outs) {
  const int d = wrap_dim(dim, x.ndim());
  if (x.ndim() && x.shape()[d] == 0)
    throw IndexError("kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  if (k < 1 || k > (x.ndim() ? x.shape()[d] : 1))
    throw RuntimeError("kthvalue(): selected number k out of range for dimension ", d);
  refuse_bool("kthvalue", x);
  return reduce_lines("kthvalue", x, dim, keepdim, outs, backend_of(x).sort->kthvalue, k - 1);
}

std::vector<NDArray> median(const NDArray& x, int64_t dim, bool keepdim, bool ignore_nan,
                            const Outs& outs) {
  const char* name = ignore_nan ? "nanmedian" : "median";
  refuse_bool(name, x);
  return reduce_lines(name, x, dim, keepdim, outs, backend_of(x).sort->median, ignore_nan);
}

std::vector<NDArray> mode(const NDArray& x, int64_t dim, bool keepdim, const Outs& outs) {
  return reduce_lines("mode", x, dim, keepdim, outs, backend_of(x).sort->mode);
}

}  // namespace tt
