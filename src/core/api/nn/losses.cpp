#include "core/api/nn/losses.h"

#include <optional>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/api/reduce.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/cross_entropy.h"
#include "core/tables/elementwise.h"
#include "core/tables/losses.h"

namespace tt {

namespace {

// Large contiguous arrays of one shape and dtype (and numbers): what can be cut in blocks.
bool is_cut_in_blocks(const Operand* inputs, int count) {
  const NDArray& first = *as_array(inputs[0]);
  if (first.numel() <= kTotalBlock || is_half(first.dtype()) || !is_floating(first.dtype()))
    return false;
  for (int i = 0; i < count; ++i) {
    const NDArray* array = as_array(inputs[i]);
    if (!array) continue;
    if (array->dtype() != first.dtype()) return false;
    if (array->ndim() == 0) continue;
    if (array->shape() != first.shape() || !array->is_contiguous()) return false;
  }
  return true;
}

// An input of x's device, or a number, which may be in an array of the host.
TotalArgs::Input input_of(const Operand& operand, const NDArray& x) {
  const NDArray* const array = as_array(operand);
  if (!array) return {nullptr, false, std::get<Scalar>(operand)};
  if (&array->device() == &x.device()) return {array->data(), array->numel() == 1};
  if (array->ndim() || !array->device().on_host) throw_mixed(x.device(), array->device());
  const double number = array->dtype() == DType::Float32 ? HostElements<float>(*array)[0]
                                                         : HostElements<double>(*array)[0];
  return {nullptr, false, Scalar::of_double(number)};
}

NDArray total_of(const Kernel* kernels, const Operand* inputs, int count, bool mean) {
  const NDArray& x = *as_array(inputs[0]);
  const NDArray out = x.new_empty({}, x.dtype());
  TotalArgs args{};
  args.kernel = kernels[static_cast<int>(x.dtype())];
  args.dtype = x.dtype();
  args.numel = x.numel();
  for (int i = 0; i < count; ++i) args.inputs[i] = input_of(inputs[i], x);
  args.count = count;
  args.mean = mean;
  args.out = out.data();
  launch(x)(backend_of(x).losses->total, args);
  return out;
}

NDArray reduced(const NDArray& loss, bool mean) {
  return reduce(mean ? Reduce::mean : Reduce::sum, loss, std::nullopt, false, std::nullopt);
}

// multilabel_margin_loss or, given the gradient of the loss, the gradient of x.
NDArray margin(const NDArray& x, const NDArray& targets, const NDArray* grad) {
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    throw not_implemented("multilabel_margin_loss", x.dtype());
  const NDArray input = contiguous(x), labels = contiguous(targets);
  const int64_t rows = x.shape()[0], classes = x.shape()[1];
  if (!launch(x)(backend_of(x).cross_entropy->labels,
                 {data_of<int64_t>(labels), rows * classes, classes, -1})) {
    const HostElements<int64_t> seen(labels);
    for (int64_t i = 0; i < seen.size(); ++i)
      if (const int64_t label = seen[i]; label < -1 || label >= classes)
        throw RuntimeError("[multilabel_margin_loss] target ", label, " is out of range");
  }
  const NDArray grads = grad ? contiguous(*grad) : input;
  const NDArray out =
      grad ? new_full(x, x.shape(), Scalar::of_int(0), x.dtype()) : x.new_empty({rows}, x.dtype());
  launch(x)(backend_of(x).losses->multilabel_margin,
            {x.dtype(), rows, classes, input.data(), data_of<int64_t>(labels),
             grad ? grads.data() : nullptr, out.data()});
  return out;
}

}  // namespace

NDArray total_of(Binary op, const NDArray& x, const NDArray& y, bool mean) {
  const Operand inputs[] = {&x, &y};
  if (!is_cut_in_blocks(inputs, 2)) return reduced(binary(op, &x, &y), mean);
  return total_of(backend_of(x).elementwise->binary[static_cast<int>(op)], inputs, 2, mean);
}

NDArray total_of(Ternary op, const NDArray& x, const NDArray& y, const Operand& z, bool mean) {
  const Operand inputs[] = {&x, &y, z};
  if (!is_cut_in_blocks(inputs, 3)) return reduced(ternary(op, &x, &y, z), mean);
  return total_of(backend_of(x).elementwise->ternary[static_cast<int>(op)], inputs, 3, mean);
}

NDArray multilabel_margin(const NDArray& x, const NDArray& targets) {
  return margin(x, targets, nullptr);
}
NDArray multilabel_margin_backward(const NDArray& grad, const NDArray& x, const NDArray& targets) {
  return margin(x, targets, &grad);
}

}  // namespace tt
