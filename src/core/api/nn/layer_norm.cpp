#include "core/api/nn/layer_norm.h"

#include <algorithm>

#include "core/api/cast.h"
#include "core/api/spatial/nn_layout.h"
#include "core/devices/launch.h"
#include "core/error.h"
#include "core/lines_of.h"
#include "core/result.h"
#include "core/tables/layer_norm.h"

namespace tt {

int64_t normalized_dims(const Dims& shape, const Dims& normalized_shape) {
  const int count = normalized_shape.size();
  if (count == 0)
    throw RuntimeError(
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
        "element, but got normalized_shape = []");
  if (count > shape.size() ||
      !std::equal(normalized_shape.begin(), normalized_shape.end(), shape.end() - count)) {
    const std::string sizes = format(normalized_shape);
    throw RuntimeError("Given normalized_shape=", sizes, ", expected input with shape [*, ",
                       sizes.substr(1), ", but got input of size", shape);
  }
  return count;
}

void check_parameters(const NDArray& x, std::initializer_list<const NDArray*> parameters) {
  const auto all_are = [&](DType dtype) {
    return std::all_of(parameters.begin(), parameters.end(),
                       [&](const NDArray* p) { return !p || p->dtype() == dtype; });
  };
  if (!all_are(x.dtype()) && !(is_half(x.dtype()) && all_are(DType::Float32)))
    throw RuntimeError(
        "mixed dtype (CPU): expect parameter to have scalar type of Float, beside an "
        "input of ",
        x.dtype());
}

namespace {

// Into how many groups rows are cut, to sum the gradients of the weights, and how many there are in
// each at least.
constexpr int64_t kGroups = 32, kRows = 8;

// x as rows of the last `count` dims.
NDArray rows_of(const NDArray& x, int64_t count) {
  int64_t rows = 1, size = 1;
  for (int d = 0; d < x.ndim(); ++d) (d < x.ndim() - count ? rows : size) *= x.shape()[d];
  return reshape(x, {rows, size});
}

struct Call {
  LayerNormArgs args{};
  DType compute;
  std::optional<NDArray> weight, bias;

  Call(const NDArray& x, const NDArray* w, const NDArray* b, int64_t count, bool centered)
      : compute(computed_in(x.dtype())) {
    if (!is_floating(x.dtype()))
      throw NotImplementedError("[layer_norm] is not implemented for ", x.dtype(), " on ",
                                x.device().name);
    if (count < 1 || count > x.ndim())
      throw RuntimeError("[layer_norm] cannot normalise ", count, " dims of ", x.shape());
    const Dims shape = spatial_of(x, static_cast<int>(count));
    for (const NDArray* array : {w, b})
      if (array && array->shape() != shape)
        throw RuntimeError(
            "Expected weight and bias to be of same shape as normalized_shape, but got ",
            array->shape(), " and normalized_shape = ", shape);
    if (centered) check_parameters(x, {w, b});
    weight = prepared(w, compute);
    bias = prepared(b, compute);
    args.weight = data_of(weight);
    args.bias = data_of(bias);
    args.centered = centered;
    args.group = 1;
  }
};

}  // namespace

std::vector<NDArray> layer_norm(const NDArray& x, int64_t count, const NDArray* weight,
                                const NDArray* bias, double eps, bool centered) {
  Call call(x, weight, bias, count, centered);
  const NDArray in = rows_of(x, count), y = x.new_empty(in.shape(), x.dtype());
  const NDArray stats = x.new_empty({in.shape()[0], 3}, call.compute);
  call.args.lines = lines_of(in.shape(), 1, call.compute, {&in, &y});
  call.args.eps = eps;
  call.args.stats = stats.data();
  launch(x)(backend_of(x).layer_norm->layer_norm, call.args);
  return {y.view(x.shape()), stats};
}

std::vector<NDArray> layer_norm_backward(const NDArray& grad, const NDArray& x,
                                         const NDArray* weight, const NDArray& stats, int64_t count,
                                         bool centered, bool of_weights, bool overwrite) {
  Call call(x, weight, nullptr, count, centered);
  if (grad.shape() != x.shape())
    throw RuntimeError("[layer_norm] expected a gradient of shape ", x.shape(), ", got ",
                       grad.shape());
  const NDArray in = rows_of(x, count), g = rows_of(grad, count);
  const NDArray dx = over(in, overwrite);
  const int64_t rows = in.shape()[0], size = in.shape()[1];
  call.args.lines = lines_of(in.shape(), 1, call.compute, {&g, &in, &dx});
  call.args.stats = stats.data();
  call.args.group = of_weights ? std::max(kRows, (rows + kGroups - 1) / kGroups) : 1;
  const int64_t groups =
      of_weights && in.numel() ? (rows + call.args.group - 1) / call.args.group : 0;
  const NDArray sums = x.new_empty({groups, 2, size}, call.compute);
  const NDArray weight_grad = x.new_empty({size}, call.compute);
  const NDArray bias_grad = x.new_empty({size}, call.compute);
  if (of_weights) {
    call.args.sums = sums.data();
    call.args.weight_grad = weight_grad.data();
    call.args.bias_grad = bias_grad.data();
  }
  launch(x)(backend_of(x).layer_norm->layer_norm_backward, call.args);
  return {dx.view(x.shape()), weight_grad, bias_grad};
}

}  // namespace tt
