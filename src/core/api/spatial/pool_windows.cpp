#include "core/api/spatial/pool_windows.h"

#include <algorithm>

namespace tt {

namespace {

void require_positive(const Dims& values, const char* op, int64_t dims, const char* name) {
  for (int64_t value : values)
    if (value <= 0)
      throw RuntimeError(op, dims, "d: ", name, " should be greater than zero, but got ", values);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// "3x8x8", of the sizes from `first` on.
std::string times(const Dims& sizes, int first, const char* between = "x") {
  std::string text;
  for (int d = first; d < sizes.size(); ++d)
    text += (d > first ? between : "") + std::to_string(sizes[d]);
  return text;
}

bool has_empty(const Dims& shape, int first, int last) {
  return std::find(shape.begin() + first, shape.begin() + last, 0) != shape.begin() + last;
}

}  // namespace

Dims per_dim(const PerDim& given, const std::string& op, int64_t dims, const std::string& name) {
  for (int64_t value : given.values)
    if (value == PerDim::kNone) throw TypeError(op, dims, "d: expected ints as ", name);
  const int size = given.values.size();
  if (size == 1) return Dims(static_cast<int>(dims), given.values[0]);
  if (size != dims)
    throw RuntimeError(op, dims, "d: expected ", name,
                       " to be a single integer value or a list of ", dims, " values, but got ",
                       name, "=", given.values);
  return given.values;
}

PoolWindows pool_windows(const Dims& shape, int64_t dims, const PerDim& kernel_size,
                         const std::optional<PerDim>& given_stride, const PerDim& given_padding,
                         bool ceil_mode, const std::optional<PerDim>& given_dilation) {
  const char* const op = given_dilation ? "max_pool" : "avg_pool";
  const Dims kernel = per_dim(kernel_size, op, dims, "kernel_size");
  const bool own = given_stride && !given_stride->values.empty();
  const Dims stride = own ? per_dim(*given_stride, op, dims, "stride") : kernel;
  const Dims padding = per_dim(given_padding, op, dims, "padding");
  const Dims dilation =
      given_dilation ? per_dim(*given_dilation, op, dims, "dilation") : Dims(dims, 1);
  require_positive(kernel, op, dims, "kernel_size");
  require_positive(stride, op, dims, "stride");
  require_positive(dilation, op, dims, "dilation");
  const int64_t most = given_dilation && dims == 1 ? int64_t{1} << 62 : INT32_MAX;  // PyTorch's
  for (int d = 0; d < dims; ++d) {
    if (std::max({kernel[d], stride[d], padding[d], dilation[d]}) > most)
      throw RuntimeError(op, dims, "d: value cannot be converted to type int without overflow");
    if (padding[d] < 0)
      throw RuntimeError(op, dims, "d: pad must be non-negative, but got pad: ", padding[d]);
    if (padding[d] > checked_add(checked_mul(dilation[d], kernel[d] - 1, op), 1, op) / 2)
      throw RuntimeError(op, dims,
                         "d: pad should be at most half of effective kernel size, but got pad=",
                         padding[d], ", kernel_size=", kernel[d], " and dilation=", dilation[d]);
  }
  const int n = shape.size(), first = n - static_cast<int>(dims);
  if ((first != 1 && first != 2) || has_empty(shape, first - 1, n))
    throw RuntimeError(
        op, dims, "d: Expected ", dims + 1, "D or ", dims + 2,
        "D (batch mode) tensor with optional 0 dim batch size for input, but got:", shape);
  Dims size;
  int64_t smallest = 1;
  for (int d = 0; d < dims; ++d) {
    const int64_t in = shape[first + d];
    const int64_t room = checked_add(window_room(in, padding[d], dilation[d], kernel[d], op),
                                     ceil_mode ? stride[d] - 1 : 0, op);
    int64_t count = floor_div(room, stride[d]) + 1;
    // The last window has to start inside of the input or the left padding.
    if (ceil_mode && checked_mul(count - 1, stride[d], op) >= in + padding[d]) --count;
    size.push_back(count);
    smallest = std::min(smallest, count);
  }
  if (smallest < 1)
    throw RuntimeError("Given input size: (", times(shape, first - 1),
                       "). Calculated output size: (", shape[first - 1], "x", times(size, 0),
                       "). Output size is too small");
  return {size, kernel, stride, padding, dilation};
}

Dims adaptive_size(const Dims& shape, int64_t dims, const PerDim& given) {
  const char* const op = "adaptive_pool";
  const int n = shape.size(), first = n - static_cast<int>(dims);
  PerDim wanted = given;
  if (dims > 1 && given.is_tuple) {
    const int size = given.values.size();
    if (size >= n) throw ValueError("Input dimension should be at least ", size + 1);
    if (size != dims)
      throw RuntimeError(op, dims, "d: output_size must be ", dims, ", but got ", given.values);
    for (int d = 0; d < size; ++d)
      if (wanted.values[d] == PerDim::kNone) wanted.values[d] = shape[first + d];
  }
  const Dims sizes = per_dim(wanted, op, dims, "output_size");
  for (int64_t value : sizes)
    if (value < 0)
      throw RuntimeError(op, dims,
                         "d: elements of output_size must be greater than or equal to 0 but "
                         "received ",
                         sizes);
  if (first != 1 && first != 2)
    throw RuntimeError(op, dims, "d(): Expected ", dims + 1, "D or ", dims + 2,
                       "D tensor, but got ", shape);
  if (has_empty(shape, first, n))
    throw RuntimeError(op, dims,
                       "d(): Expected input to have non-zero size for non-batch dimensions, but "
                       "input has sizes ",
                       shape);
  return sizes;
}

ConvSettings conv_settings(int64_t dims, const PerDim& given_stride, const PerDim& given_padding,
                           const PerDim& given_dilation, int64_t groups) {
  const Dims stride = per_dim(given_stride, "conv", dims, "stride");
  const Dims padding = per_dim(given_padding, "conv", dims, "padding");
  const Dims dilation = per_dim(given_dilation, "conv", dims, "dilation");
  require_positive(stride, "conv", dims, "stride");
  require_positive(dilation, "conv", dims, "dilation");
  require_positive(Dims{groups}, "conv", dims, "groups");
  for (int64_t side : padding)
    if (side < 0) throw RuntimeError("negative padding is not supported");
  return {stride, padding, dilation, groups};
}

TransposedConvSettings transposed_conv_settings(const Dims& x, const Dims& w, int64_t dims,
                                                const PerDim& given_stride,
                                                const PerDim& given_padding,
                                                const PerDim& output_padding, int64_t groups,
                                                const PerDim& given_dilation) {
  const ConvSettings settings =
      conv_settings(dims, given_stride, given_padding, given_dilation, groups);
  const auto& [stride, padding, dilation, unused] = settings;
  const Dims more = per_dim(output_padding, "conv_transpose", dims, "output_padding");
  check_channels(x, w, static_cast<int>(dims), groups, true);
  Dims size;
  for (int d = 0; d < dims; ++d) {
    if (more[d] < 0) throw RuntimeError("negative output_padding is not supported");
    if (more[d] && more[d] >= std::max(stride[d], dilation[d]))
      throw RuntimeError(
          "output padding must be smaller than either stride or dilation, but got output_padding ",
          more, ", stride ", stride, ", dilation ", dilation);
    const __int128 out = static_cast<__int128>(x[d + 2] - 1) * stride[d] -
                         static_cast<__int128>(padding[d]) * 2 +
                         static_cast<__int128>(dilation[d]) * (w[d + 2] - 1) + 1 + more[d];
    if (out > INT64_MAX)
      throw RuntimeError("Overflow in the output size of conv_transpose", dims, "d");
    if (out < 1)
      throw RuntimeError("Given input size per channel: ", x, ". Calculated output size along dim ",
                         d + 2, ": ", static_cast<int64_t>(out), ". Output size is too small");
    size.push_back(static_cast<int64_t>(out));
  }
  return {size, settings};
}

void check_channels(const Dims& x, const Dims& w, int spatial, int64_t groups, bool transposed) {
  const char* const name = transposed ? "conv_transpose" : "conv";
  if (x.size() != spatial + 2)
    throw RuntimeError("Expected ", spatial + 1, "D (unbatched) or ", spatial + 2,
                       "D (batched) input to ", name, spatial, "d, but got input of size: ", x);
  if (w.size() != x.size())
    throw RuntimeError("[", name, spatial, "d] expected a weight of ", x.size(),
                       " dimensions, got ", w);
  if (has_empty(w, 2, w.size())) {
    const char* const said = "kernel size should be greater than zero, but got";
    if (spatial == 3) throw RuntimeError(said, ": ", times(w, 2, " x "), " (TxHxW)");
    throw RuntimeError(said, " kernel_height: ", spatial == 1 ? 1 : w[2],
                       " kernel_width: ", w[spatial + 1]);
  }
  if (w[0] < groups || w[0] % groups)
    throw RuntimeError("Given groups=", groups, ", expected weight to be divisible by ", groups,
                       " at dimension 0 and of at least 1 element, but got weight of size ", w);
  const int64_t channels = transposed ? w[0] : checked_mul(w[1], groups, name);
  if (x[1] != channels)
    throw RuntimeError("Given ", transposed ? "transposed=" : "groups=", transposed ? 1 : groups,
                       ", weight of size ", w, ", expected input", x, " to have ", channels,
                       " channels, but got ", x[1], " channels instead");
  if (has_empty(x, 2, x.size()) && !has_empty(x, 0, 2))
    throw RuntimeError(
        "Only zero batch or zero channel inputs are supported, but got input shape: ", x);
}

}  // namespace tt
