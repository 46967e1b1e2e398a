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
  // In `compute`, laid out so that the kernels can read it; x itself where it is.
  NDArray fit(const NDArray& x, DType compute) const {
    const NDArray wide = converted(x, compute);
    if (has_strides(wide, strides, rows() ? 0 : 2)) return wide;
    const NDArray copy = x.new_empty_strided(shape, strides, compute);
    copy_into(copy, &wide);
    return copy;
  }
  NDArray empty(const NDArray& like, DType dtype) const {
    return like.new_empty_strided(shape, strides, dtype);
  }
};

struct Call {
  BatchNormArgs args{};
  DType compute;
  Layout layout;
  NDArray x;
  std::optional<NDArray> weight, bias;

  Call(const NDArray& given, const NDArray* w, const NDArray* b, int64_t groups)
      : compute(computed_in(given.dtype())),
        layout(checked(given), groups == 0),
        x(layout.fit(given, compute)) {
    args.samples = x.shape()[0];
    args.channels = x.shape()[1];
    args.size = 1;
    for (int d = 2; d < x.ndim(); ++d) args.size *= x.shape()[d];
    if (groups < 0 || (groups && args.channels % groups))
      throw RuntimeError("[group_norm] cannot make ", groups, " groups of ", args.channels,
                         " channels");
    args.set_channels = groups ? args.channels / groups : 0;
    args.channels_last = layout.rows();
    args.compute = compute;
    args.x = x.data();
    args.x_sample = x.strides()[0];
    args.x_channel = x.strides()[1];
    for (const NDArray* array : {w, b})
      if (array && array->shape() != Dims{args.channels})
        throw RuntimeError("[batch_norm] expected a weight of shape [", args.channels, "], got ",
                           array->shape());
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

// Channels of a contiguous x of halves that batch norm takes at a time, so that their floats stay
// in the caches; 0 for all of them, also if one of the `others` does not fit.
int64_t channels_at_once(const NDArray& x, int64_t groups,
                         std::initializer_list<const NDArray*> others) {
  constexpr int64_t kElements = 1 << 20;
  if (!is_half(x.dtype()) || groups != 0 || x.ndim() < 3 || !x.is_contiguous()) return 0;
  for (const NDArray* other : others)
    if (other && other->shape() != Dims{x.shape()[1]}) return 0;
  const int64_t of_one = x.numel() / std::max<int64_t>(x.shape()[1], 1);
  const int64_t step = std::max<int64_t>(kElements / std::max<int64_t>(of_one, 1), 1);
  return step < x.shape()[1] ? step : 0;
}

// Elements [begin, end) of an array by channels; none of none.
std::optional<NDArray> part_of(const NDArray* array, int64_t begin, int64_t end) {
  return array ? std::optional(array->slice(0, begin, end, 1)) : std::nullopt;
}
const NDArray* pointer(const std::optional<NDArray>& x) { return x ? &*x : nullptr; }

// The results of compute(begin, end) for channels [begin, end), put together: the first by channels
// along dim 1, the others along their last dim.
template <class Compute>
std::vector<NDArray> in_channel_parts(const NDArray& x, int64_t step, const Compute& compute) {
  const int64_t channels = x.shape()[1];
  std::vector<NDArray> whole;
  for (int64_t begin = 0; begin < channels; begin += step) {
    const int64_t end = std::min(begin + step, channels);
    const std::vector<NDArray> parts = compute(begin, end);
    for (size_t i = 0; i < parts.size(); ++i) {
      const int dim = i == 0 ? 1 : parts[i].ndim() - 1;
      if (begin == 0) {
        Dims shape = parts[i].shape();
        shape[dim] = channels;
        whole.push_back(x.new_empty(shape, parts[i].dtype()));
      }
      copy_into(whole[i].slice(dim, begin, end, 1), &parts[i]);
    }
  }
  return whole;
}

void check_floating(const NDArray& x) {
  if (!is_floating(x.dtype()))
    throw NotImplementedError("[batch_norm] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
}

}  // namespace

std::vector<NDArray> batch_norm(const NDArray& given, const NDArray* weight, const NDArray* bias,
                                const NDArray* running_mean, const NDArray* running_var,
                                int64_t groups, bool training, double momentum, double eps) {
  if (const int64_t step =
          channels_at_once(given, groups, {weight, bias, running_mean, running_var}))
    return in_channel_parts(given, step, [&](int64_t begin, int64_t end) {
      const auto w = part_of(weight, begin, end), b = part_of(bias, begin, end),
                 m = part_of(running_mean, begin, end), v = part_of(running_var, begin, end);
      return batch_norm(given.slice(1, begin, end, 1), pointer(w), pointer(b), pointer(m),
                        pointer(v), groups, training, momentum, eps);
    });
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
  for (const NDArray* running : {running_mean, running_var})
    if (running && running->shape() != Dims{args.channels})
      throw RuntimeError("[batch_norm] expected running statistics of shape [", args.channels,
                         "], got ", running->shape());
  if (training)
    for (const NDArray* running : {running_mean, running_var})
      if (running) check_writable(*running);
  const NDArray y = call.layout.empty(given, call.compute);
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
    launch(given)(backend_of(given).batch_norm->batch_norm, args);
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
  if (const int64_t step = channels_at_once(given, groups, {weight});
      step && grad.shape() == given.shape())
    return in_channel_parts(given, step, [&](int64_t begin, int64_t end) {
      const auto w = part_of(weight, begin, end);
      const auto part = [&](const NDArray& x) { return x.slice(1, begin, end, 1); };
      return batch_norm_backward(part(grad), part(given), pointer(w), contiguous(part(stats)),
                                 groups, fixed, of_input, overwrite);
    });
  Call call(given, weight, nullptr, groups);
  check_floating(given);
  if (grad.shape() != given.shape())
    throw RuntimeError("[batch_norm] expected a gradient of shape ", given.shape(), ", got ",
                       grad.shape());
  BatchNormArgs& args = call.args;
  const NDArray g = call.layout.fit(grad, call.compute);
  const bool inside = overwrite && of_input && has_strides(call.x, call.layout.strides, 0);
  const NDArray dx = inside ? call.x : call.layout.empty(given, call.compute);
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
    launch(given)(backend_of(given).batch_norm->batch_norm_backward, args);
  } else {
    copy_into(weight_grad, Scalar::of_int(0));
    copy_into(bias_grad, Scalar::of_int(0));
  }
  return {converted(dx, given.dtype()), weight_grad, bias_grad};
}

}  // namespace tt
