#include "core/api/copy.h"
#include "core/api/lines.h"
#include "core/api/norm.h"
#include "core/api/reduce.h"
#include "core/error.h"

namespace tt {

namespace {

constexpr int64_t kGroups = 32;  // into which rows are cut, to sum the gradients of the weights

// x as rows of the last `count` dims.
NDArray rows_of(const NDArray& x, int64_t count) {
  int64_t rows = 1, size = 1;
  for (int d = 0; d < x.ndim(); ++d) (d < x.ndim() - count ? rows : size) *= x.shape()[d];
  const Dims shape{rows, size};
  return x.try_view(shape).value_or(contiguous(x).view(shape));
}

struct Call {
  LayerNormArgs args{};
  DType compute;
  std::optional<NDArray> weight, bias;

  Call(const NDArray& x, const NDArray* w, const NDArray* b, int64_t count, bool centered)
      : compute(computed_in(x.dtype())) {
    if (!is_floating(x.dtype()))
      throw NotImplementedError("[layer_norm] is not implemented for ", x.dtype(), " on cpu");
    if (count < 1 || count > x.ndim())
      throw RuntimeError("[layer_norm] cannot normalise ", count, " dims of ", x.shape());
    int64_t size = 1;
    for (int d = x.ndim() - static_cast<int>(count); d < x.ndim(); ++d) size *= x.shape()[d];
    auto checked = [&](const NDArray* array) -> std::optional<NDArray> {
      if (!array) return std::nullopt;
      if (array->numel() != size)
        throw RuntimeError("[layer_norm] expected a weight of ", size, " elements, got ",
                           array->shape());
      return contiguous(astype(*array, compute));
    };
    weight = checked(w);
    bias = checked(b);
    args.weight = weight ? weight->data() : nullptr;
    args.bias = bias ? bias->data() : nullptr;
    args.centered = centered;
    args.group = 1;
  }
};

}  // namespace

std::vector<NDArray> layer_norm(const NDArray& x, int64_t count, const NDArray* weight,
                                const NDArray* bias, double eps, bool centered) {
  Call call(x, weight, bias, count, centered);
  const NDArray in = rows_of(x, count), y = NDArray::empty(in.shape(), x.dtype());
  const NDArray stats = NDArray::empty({in.shape()[0], 2}, call.compute);
  call.args.lines = lines_of(in.shape(), 1, call.compute, {&in, &y});
  call.args.eps = eps;
  call.args.stats = stats.data();
  cpu_backend().norm->layer_norm(call.args);
  return {y.view(x.shape()), stats};
}

std::vector<NDArray> layer_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats, int64_t count,
                                         bool centered, bool of_weights) {
  Call call(x, weight, nullptr, count, centered);
  if (grad.shape() != x.shape())
    throw RuntimeError("[layer_norm] expected a gradient of shape ", x.shape(), ", got ",
                       grad.shape());
  const NDArray in = rows_of(x, count), g = rows_of(grad, count);
  const NDArray dx = NDArray::empty(in.shape(), x.dtype());
  const int64_t rows = in.shape()[0], size = in.shape()[1];
  call.args.lines = lines_of(in.shape(), 1, call.compute, {&g, &in, &dx});
  call.args.stats = stats.data();
  call.args.group = of_weights ? std::max<int64_t>(1, (rows + kGroups - 1) / kGroups) : 1;
  const int64_t groups =
      of_weights && in.numel() ? (rows + call.args.group - 1) / call.args.group : 0;
  const NDArray sums = NDArray::empty({groups, 2, size}, call.compute);
  call.args.sums = of_weights ? sums.data() : nullptr;
  if (in.numel() > 0) cpu_backend().norm->layer_norm_backward(call.args);
  const NDArray totals = reduce(Reduce::sum, sums, Dims{0}, false);  // (2, size)
  return {dx.view(x.shape()), totals.select(0, 0), totals.select(0, 1)};
}

}  // namespace tt
