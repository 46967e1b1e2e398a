// Batch, group and instance norm: x (N, C, *), a weight and a bias per channel.
#include "core/api/nn/batch_norm.h"

#include <algorithm>

#include "core/api/cast.h"
#include "core/api/nn/layer_norm.h"
#include "core/api/spatial/nn_layout.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/tables/batch_norm.h"

namespace tt {

namespace {

// Whether the strides of the dims from `first` on are these, but for dims of one element.
bool has_strides(const NDArray& x, const Dims& strides, int first) {
  for (int d = first; d < x.ndim(); ++d)
    if (x.shape()[d] != 1 && x.strides()[d] != strides[d]) return false;
  return true;
}

// PyTorch's choice where strides look like both: batch norm takes x as contiguous if it is.
bool wants_channels_last(const NDArray& x, bool batch_norm) {
  if (x.ndim() < 4 || x.ndim() > 5 || (batch_norm && x.is_contiguous())) return false;
  return looks_channels_last(x) ||
         (batch_norm && has_strides(x, channels_last_strides(x.shape()), 0));
}

struct Layout {
  bool channels_last;  // as x's memory format is
  Dims shape, strides;

  Layout(const NDArray& x, bool batch_norm)
      : channels_last(wants_channels_last(x, batch_norm)),
        shape(x.shape()),
        strides(channels_last ? channels_last_strides(shape) : contiguous_strides(shape)) {}
  // Without spatial dims a row is a sample, too.
  bool rows() const { return channels_last || shape.size() == 2; }
  // In `dtype`, laid out so that the kernels can read it; x itself where it is.
  NDArray fit(const NDArray& x, DType dtype) const {
    const NDArray wide = converted(x, dtype);
    if (has_strides(wide, strides, rows() ? 0 : 2)) return wide;
    const NDArray copy = x.new_empty_strided(shape, strides, dtype);
    copy_into(copy, &wide);
    return copy;
  }
  NDArray empty(const NDArray& like, DType dtype) const {
    return like.new_empty_strided(shape, strides, dtype);
  }
};

// Of a vector with an element per channel; of group_norm where there are groups.
void check_size(const char* name, const NDArray* vector, const NDArray& x, int64_t groups) {
  const int64_t channels = x.shape()[1];
  if (!vector || vector->shape() == Dims{channels}) return;
  if (groups)
    throw RuntimeError("Expected ", name,
                       " to be a vector of size equal to the number of channels ",
                       "in input, but got ", name, " of shape ", vector->shape(),
                       " and input of shape ", x.shape());
  if (vector->numel() == channels)
    throw RuntimeError("[batch_norm] expected ", name, " of shape [", channels, "], got ",
                       vector->shape());
  throw RuntimeError(name, " should contain ", channels, " elements not ", vector->numel());
}

struct Call {
  BatchNormArgs args{};
  DType compute, taken;  // of sums; of x, grad and out
  Layout layout;
  NDArray x;
  std::optional<NDArray> weight, bias;

  Call(const NDArray& given, const NDArray* w, const NDArray* b, int64_t groups)
      : compute(computed_in(given.dtype())),
        taken(taken_in(given.dtype(), backend_of(given).batch_norm->batch_norm)),
        layout(checked(given), groups == 0),
        x(layout.fit(given, taken)) {
    args.samples = x.shape()[0];
    args.channels = x.shape()[1];
    args.size = 1;
    for (int d = 2; d < x.ndim(); ++d) args.size *= x.shape()[d];
    if (groups < 0 || (groups && args.channels % groups))
      throw RuntimeError(
          "Expected number of channels in input to be divisible by num_groups, but got ",
          "input of shape ", given.shape(), " and num_groups=", groups);
    args.set_channels = groups ? args.channels / groups : 0;
    args.channels_last = layout.rows();
    args.x = x.data();
    args.x_sample = x.strides()[0];
    args.x_channel = x.strides()[1];
    check_size("weight", w, given, groups);
    check_size("bias", b, given, groups);
    weight = prepared(w, compute);
    bias = prepared(b, compute);
    args.weight = data_of(weight);
    args.bias = data_of(bias);
  }
  static const NDArray& checked(const NDArray& x) {
    if (x.ndim() < 2)
      throw RuntimeError("Expected at least 2 dimensions for input tensor but received ", x.ndim());
    return x;
  }
  int64_t sets() const {
    return args.set_channels ? args.samples * (args.channels / args.set_channels) : args.channels;
  }
  int64_t elements() const {
    return (args.set_channels ? args.set_channels : args.samples) * args.size;
  }
};

// What is kept of each set: its mean, what that lacks of the true one, 1 / sqrt(variance + eps).
struct Stats {
  static constexpr int64_t kCount = 3;
  NDArray array;  // (kCount, sets)

  explicit Stats(NDArray array) : array(std::move(array)) {}
  char* at(int64_t number) const {
    return array.data() + number * array.shape()[1] * itemsize(array.dtype());
  }
  char* mean() const { return at(0); }
  char* rstd() const { return at(2); }
  void give(BatchNormArgs& args) const {
    args.mean = mean();
    args.rest = args.fixed ? nullptr : at(1);
    args.rstd = rstd();
  }
};

void check_floating(const NDArray& x) {
  if (!is_floating(x.dtype()))
    throw NotImplementedError("[batch_norm] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
}

}  // namespace

std::vector<NDArray> batch_norm(const NDArray& given, const NDArray* weight, const NDArray* bias,
                                const NDArray* running_mean, const NDArray* running_var,
                                int64_t groups, bool training, double momentum, double eps) {
  check_size("running_mean", running_mean, Call::checked(given), 0);
  check_size("running_var", running_var, given, 0);
  Call call(given, weight, bias, groups);
  if (!training && (!running_mean || !running_var))
    throw RuntimeError(running_mean ? "running_var" : "running_mean",
                       " must be defined in evaluation mode");
  check_floating(given);
  check_parameters(given, {weight, bias, running_mean, running_var});
  BatchNormArgs& args = call.args;
  if (groups && args.samples * args.channels / groups == 1 && args.size == 1)
    throw ValueError("Expected more than 1 value per channel when training, got input size ",
                     given.shape());
  if (training && !running_mean != !running_var)
    throw ValueError("running_mean and running_var must either both be None or neither be None");
  const Stats stats(given.new_empty({Stats::kCount, call.sets()}, call.compute));
  const NDArray variance = given.new_empty({call.sets()}, DType::Float64);
  if (training)
    for (const NDArray* running : {running_mean, running_var})
      if (running) check_writable(*running);
  const NDArray y = call.layout.empty(given, call.taken);
  args.fixed = !training;
  const auto running = [](const NDArray* array) {
    return array ? RunningArgs::Running{array->data(), array->dtype(), array->strides()[0]}
                 : RunningArgs::Running{};
  };
  const RunningArgs statistics{
      running(running_mean),
      running(running_var),
      args.channels,
      call.sets() / std::max<int64_t>(args.channels, 1),
      call.compute,
      stats.mean(),
      stats.rstd(),
      variance.data(),
      static_cast<double>(call.elements()),
      momentum,
      eps,
  };
  if (args.fixed) launch(given)(backend_of(given).batch_norm->running_read, statistics);
  args.out = y.data();
  stats.give(args);
  args.variance = variance.data();
  args.eps = eps;
  if (given.numel() > 0) {
    const WithoutGil unlocked(given.numel() > kGilGrain);
    launch(given)(backend_of(given).batch_norm->batch_norm[float_kind(call.taken)], args);
  }
  if (training && given.numel() > 0 && (running_mean || running_var)) {
    launch(given)(backend_of(given).batch_norm->running_update, statistics);
    for (const NDArray* array : {running_mean, running_var})
      if (array) array->mark_written();
  }
  return {converted(y, given.dtype()), stats.array};
}

std::vector<NDArray> batch_norm_backward(const NDArray& grad, const NDArray& given,
                                         const NDArray* weight, const NDArray& stats,
                                         int64_t groups, bool fixed, bool of_input,
                                         bool overwrite) {
  Call call(given, weight, nullptr, groups);
  check_floating(given);
  if (grad.shape() != given.shape())
    throw RuntimeError("[batch_norm] expected a gradient of shape ", given.shape(), ", got ",
                       grad.shape());
  BatchNormArgs& args = call.args;
  const NDArray g = call.layout.fit(grad, call.taken);
  const bool inside = overwrite && of_input && has_strides(call.x, call.layout.strides, 0);
  const NDArray dx = inside ? call.x : call.layout.empty(given, call.taken);
  const NDArray weight_grad = given.new_empty({args.channels}, call.compute);
  const NDArray bias_grad = given.new_empty({args.channels}, call.compute);
  args.grad = g.data();
  args.grad_sample = g.strides()[0];
  args.grad_channel = g.strides()[1];
  args.out = of_input ? dx.data() : nullptr;
  args.fixed = fixed;
  Stats(stats).give(args);
  if (inside) given.mark_written();
  args.weight_grad = weight_grad.data();
  args.bias_grad = bias_grad.data();
  if (given.numel() > 0) {
    const WithoutGil unlocked(given.numel() > kGilGrain);
    launch(given)(backend_of(given).batch_norm->batch_norm_backward[float_kind(call.taken)], args);
  } else {
    copy_into(weight_grad, Scalar::of_int(0));
    copy_into(bias_grad, Scalar::of_int(0));
  }
  return {converted(dx, given.dtype()), weight_grad, bias_grad};
}

}  // namespace tt
