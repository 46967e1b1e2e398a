#include "core/api/spatial/conv.h"

#include <algorithm>
#include <atomic>

#include "core/api/cast.h"
#include "core/api/spatial/conv_plan.h"
#include "core/api/spatial/nn_layout.h"
#include "core/api/spatial/pool_windows.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/memory/extent.h"
#include "core/shapes.h"
#include "core/tables/conv.h"

namespace tt {

namespace {

// In the place of a kind in ConvTable: pairs of bfloat16, which make float32, and tiles.
constexpr int kPairs = ConvTable::kKinds, kTiles = kPairs + 1;

std::atomic<bool> may_be_winograd{true};

struct Settings {
  const Dims &stride, &padding, &dilation;
  int64_t groups;
};

// Three spatial dims, of which those that are missing come first.
void fill(const Dims& from, int64_t missing, int64_t* to) {
  for (int d = 0; d < 3; ++d) to[d] = d < 3 - from.size() ? missing : from[d - 3 + from.size()];
}

// What the three arrays are to each other; throws where they do not fit.
ConvArgs make_args(const NDArray& x, const NDArray& w, const NDArray& y, const Settings& s) {
  const int spatial = x.ndim() - 2;
  if (spatial < 1 || spatial > 3 || w.ndim() != x.ndim() || y.ndim() != x.ndim() ||
      s.stride.size() != spatial || s.padding.size() != spatial || s.dilation.size() != spatial)
    throw RuntimeError("[conv] expected arrays of the same 3 to 5 dims and settings for each, got ",
                       x.shape(), ", ", w.shape(), ", ", y.shape());
  ConvArgs g;
  g.batch = x.shape()[0];
  g.groups = s.groups;
  g.x_channels = w.shape()[1];
  g.y_channels = w.shape()[0] / s.groups;
  bool fits = y.shape()[0] == g.batch && x.shape()[1] == g.x_channels * g.groups &&
              y.shape()[1] == w.shape()[0] && w.shape()[0] % s.groups == 0;
  for (int d = 0; d < spatial; ++d) {
    // Rows of x behind the last that a tap sees are those of a stride, or of output_padding.
    const int64_t room =
        window_room(x.shape()[d + 2], s.padding[d], s.dilation[d], w.shape()[d + 2], "conv");
    fits = fits && s.stride[d] > 0 && s.dilation[d] > 0 && w.shape()[d + 2] > 0 &&
           checked_mul(y.shape()[d + 2] - 1, s.stride[d], "conv") <= room;
  }
  if (!fits)
    throw RuntimeError("[conv] shapes do not fit: ", x.shape(), ", ", w.shape(), ", ", y.shape(),
                       " with groups ", s.groups, ", stride ", s.stride, ", padding ", s.padding,
                       ", dilation ", s.dilation);
  fill(spatial_of(x, spatial), 1, g.x_size);
  fill(spatial_of(y, spatial), 1, g.y_size);
  fill(spatial_of(w, spatial), 1, g.taps);
  fill(s.stride, 1, g.stride);
  fill(s.padding, 0, g.padding);
  fill(s.dilation, 1, g.dilation);
  // Where a window or tap is alone, it does not matter how far the next would be.
  for (int d = 0; d < 3; ++d) {
    g.stride[d] = std::min(g.stride[d], checked_add(g.x_size[d] + 2 * g.padding[d], 1, "conv"));
    if (g.taps[d] == 1) g.dilation[d] = 1;
  }
  strides_of(x, g.x_strides);
  strides_of(w, g.w_strides);
  strides_of(y, g.y_strides);
  g.x = x.data();
  g.w = w.data();
  g.y = y.data();
  g.bias = nullptr;
  g.bias_stride = 0;
  g.winograd = may_be_winograd.load(std::memory_order_relaxed);
  return g;
}

void fill_result(const NDArray& result, const NDArray* bias) {
  if (!bias) {
    copy_into(result, Scalar::of_int(0));
    return;
  }
  NDArray rows = *bias;
  for (int d = 2; d < result.ndim(); ++d) rows = rows.unsqueeze(-1);
  copy_into(result, &rows);
}

// y from x and w, or x from y and w; what parts it has, add_parts says.
ConvSum make_sum(const ConvArgs& g, const NDArray& source, const NDArray& w, ConvResult result) {
  const bool transposed = result == ConvResult::X;
  ConvSum sum;
  sum.batch = g.batch;
  sum.groups = g.groups;
  sum.winograd = g.winograd;
  sum.rows = transposed ? g.x_channels : g.y_channels;
  sum.channels = transposed ? g.y_channels : g.x_channels;
  sum.source = transposed ? g.y : g.x;
  sum.weight = g.w;
  sum.bias = g.bias;
  sum.result = transposed ? g.x : g.y;
  sum.weight_group = g.y_channels * g.w_strides[0];
  sum.weight_row = g.w_strides[transposed ? 1 : 0];
  sum.weight_channel = g.w_strides[transposed ? 0 : 1];
  const int64_t* result_strides = transposed ? g.x_strides : g.y_strides;
  sum.result_batch = result_strides[0];
  sum.result_row = result_strides[1];
  sum.bias_stride = g.bias_stride;
  sum.source_extent = reach_of(source);
  sum.weight_extent = reach_of(w);
  std::copy_n(transposed ? g.y_strides : g.x_strides, 5, sum.source_strides);
  for (int d = 0; d < 3; ++d) {
    sum.source_size[d] = transposed ? g.y_size[d] : g.x_size[d];
    sum.step[d] = transposed ? 1 : g.stride[d];
  }
  return sum;
}

// `use` gets the sum with every combination of the lines that sees the source, while they live.
template <class Use>
void with_parts(ConvSum sum, const ConvArgs& g, const ConvLines& lines, ConvResult result,
                const Use& use) {
  ConvPlan plan =
      make_plan(lines, g.w_strides, result == ConvResult::X ? g.x_strides : g.y_strides);
  const auto unseen = [](const ConvPart& part) { return part.tap_count == 0; };
  const auto end = std::remove_if(plan.parts.begin(), plan.parts.end(), unseen);
  plan.parts.erase(end, plan.parts.end());
  sum.parts = plan.parts.data();
  sum.part_count = plan.parts.size();
  if (sum.part_count > 0) use(sum);
}

// Whether what kernels copy has a number of bytes: what they see, of hundreds of rows at a time,
// with the zeros around it.
bool can_be_copied(const ConvArgs& g) {
  constexpr int64_t kBytes = 1 << 14;  // 8 of an element, in each of 2048 copies at most
  int64_t bytes = kBytes * std::max(g.x_channels, g.y_channels);
  for (int d = 0; d < 3; ++d)
    if (__builtin_mul_overflow(bytes, g.x_size[d] + 2 * g.padding[d] + 1, &bytes)) return false;
  return true;
}

// x or y. Kernels of mixed channels count what lies outside of the source as zeros. If these meet a
// weight that is not finite, they make NaN where there should be nothing, in all pixels of a part,
// as its first one shows: then the sum is done again, without them. False if tiles refuse it.
bool compute_sum(const ConvSum& sum, const ConvArgs& g, const NDArray& out, const NDArray* bias,
                 ConvResult result, int kind) {
  const bool depthwise = g.x_channels == 1 && g.y_channels == 1 && g.groups > 1;
  const ConvTable& table = *backend_of(out).conv;
  bool again = !can_be_copied(g), asked = false;
  if (kind == kTiles) {
    const ConvLines lines = find_lines(g, result);
    if (!again && has_unseen(lines)) fill_result(out, bias);
    with_parts(sum, g, lines, result, [&](const ConvSum& parts) {
      again = again || !launch(out)(table.tiles.sum, parts);
    });
    return !again;
  }
  const auto kernel =
      kind == kPairs ? table.pairs.sum : (depthwise ? table.depthwise : table.sum)[kind];
  if (!again) {
    const ConvLines lines = find_lines(g, result);
    if (has_unseen(lines)) fill_result(out, bias);
    with_parts(sum, g, lines, result, [&](const ConvSum& parts) {
      launch(out)(kernel, parts);
      asked = !depthwise;
      again =
          asked && !launch(out)(backend_of(out).conv->is_finite[kind == kPairs ? 0 : kind], parts);
    });
  }
  const auto exact = [&] {
    const ConvLines lines = find_exact_lines(g, result);
    if (has_unseen(lines)) fill_result(out, bias);
    for (const ConvLine& d : lines[0])
      for (const ConvLine& h : lines[1])
        for (const ConvLine& w : lines[2])
          with_parts(sum, g, {{{d}, {h}, {w}}}, result,
                     [&](const ConvSum& parts) { launch(out)(kernel, parts); });
  };
  if (again)
    exact();
  else if (Recording* const r = asked ? recording() : nullptr)
    r->otherwise(r->steps.size() - 1, exact);
  return true;
}

// Whether the dims (C, D, H, W) of given sizes lie as `strides` says, where they have elements.
bool lies_as(const int64_t* actual, const int64_t (&strides)[4], const int64_t (&size)[4]) {
  for (int d = 0; d < 4; ++d)
    if (size[d] > 1 && actual[d + 1] != strides[d]) return false;
  return true;
}

// A window as large as the image is one pixel with a channel for each element of the window. Not
// for y, whose sums run over them, and in the same order for any layout.
void take_windows_as_channels(ConvArgs& g, ConvResult result) {
  if (g.groups > 1 || result == ConvResult::Y) return;
  for (int d = 0; d < 3; ++d)
    if (g.y_size[d] > 1 || g.padding[d] > 0 || g.x_size[d] != g.taps[d]) return;
  const int64_t c = g.x_channels, *t = g.taps, size[] = {c, t[0], t[1], t[2]};
  const int64_t plain[] = {t[0] * t[1] * t[2], t[1] * t[2], t[2], 1};
  const int64_t last[] = {1, t[1] * t[2] * c, t[2] * c, c};
  const bool is_last = lies_as(g.x_strides, last, size) && lies_as(g.w_strides, last, size);
  const bool is_plain = lies_as(g.x_strides, plain, size) && lies_as(g.w_strides, plain, size);
  if (!is_last && !is_plain) return;
  g.x_channels *= plain[0];
  for (int d = 0; d < 3; ++d) g.x_size[d] = g.taps[d] = g.stride[d] = 1;
  g.x_strides[1] = g.w_strides[1] = 1;
}

// Where windows are single pixels side by side, an image is a row of pixels.
void take_images_as_rows(ConvArgs& g) {
  for (int d = 0; d < 3; ++d)
    if (g.taps[d] > 1 || g.stride[d] > 1 || g.padding[d] > 0 || g.x_size[d] != g.y_size[d]) return;
  for (int d = 1; d >= 0; --d) {
    if (g.x_size[d] > 1 && (g.x_strides[d + 2] != g.x_size[2] * g.x_strides[4] ||
                            g.y_strides[d + 2] != g.x_size[2] * g.y_strides[4]))
      return;
    g.x_size[2] *= g.x_size[d];
    g.y_size[2] = g.x_size[2];
    g.x_size[d] = g.y_size[d] = 1;
  }
}

double work_of(const ConvArgs& g) {
  double work = double(g.batch) * g.groups * g.x_channels * g.y_channels;
  for (int d = 0; d < 3; ++d) work *= double(g.y_size[d]) * g.taps[d];
  return work;
}

// Pairs of bfloat16 along dim 0 or 1 in the place of floats (ConvPairs), in the order of x.
NDArray paired(const NDArray& x, int dim) {
  const int n = x.ndim();
  Dims order, back;
  const bool last = !x.is_contiguous() && looks_channels_last(x);
  for (int d = 0; d < n; ++d) {
    order.push_back(!last || d == 0 ? d : d == n - 1 ? 1 : d + 1);
    back.push_back(!last || d == 0 ? d : d == 1 ? n - 1 : d - 1);
  }
  const NDArray dense = contiguous(x.permute(order));
  const int axis = static_cast<int>(back[dim]);
  Dims shape = dense.shape();
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < n; ++d) (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  shape[axis] = (shape[axis] + 1) / 2;
  const NDArray pairs = dense.new_empty(shape, DType::Float32);
  if (pairs.numel() > 0)
    launch(dense)(backend_of(dense).conv->pairs.interleave,
                  reinterpret_cast<uint32_t*>(pairs.data()), dense.data(), outer,
                  dense.shape()[axis], inner);
  return pairs.permute(back);
}

// Fills one of the three arrays from the others; false if tiles refuse.
bool fill_from(const NDArray& x, const NDArray& w, const NDArray& y, const NDArray* bias,
               const Settings& settings, ConvResult result, int kind) {
  ConvArgs g = make_args(x, w, y, settings);
  const NDArray& out = result == ConvResult::X ? x : result == ConvResult::W ? w : y;
  if (bias) {
    const int64_t channels = out.shape()[1];
    if (bias->ndim() != 1 || bias->shape()[0] != channels)
      throw RuntimeError("[conv] expected a bias of shape [", channels, "], got ", bias->shape());
    g.bias = bias->data();
    g.bias_stride = bias->strides()[0];
  }
  if (out.numel() == 0) return true;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return fill_result(out, bias), true;
  if (kind < 0) {
    const auto naive = backend_of(out).conv->naive[static_cast<int>(out.dtype())];
    if (!naive)
      throw NotImplementedError("[conv] is not implemented for ", out.dtype(), " on ",
                                out.device().name);
    fill_result(out, bias);
    const WithoutGil unlocked(work_of(g) > 65536);
    return launch(out)(naive, g, result), true;
  }
  const WithoutGil unlocked(work_of(g) > 65536);
  if (!bias || result != ConvResult::X) take_windows_as_channels(g, result);
  if (result != ConvResult::W) take_images_as_rows(g);
  if (!can_be_copied(g)) {
    if (result == ConvResult::W)
      throw RuntimeError("[conv] the size of the padded input overflows");
    for (int d = 0; d < 3; ++d)
      if (g.y_size[d] == 1) g.stride[d] = 1;
  }
  const ConvSum sum = make_sum(g, result == ConvResult::X ? y : x, w, result);
  if (result != ConvResult::W) return compute_sum(sum, g, out, bias, result, kind);
  const ConvTable& table = *backend_of(out).conv;
  if (kind == kTiles) return launch(out)(table.tiles.weight, g);
  if (g.x_channels > 1 || g.y_channels > 1 || g.groups == 1)
    return launch(out)(kind == kPairs ? table.pairs.weight : table.weight[kind], g), true;
  const ConvLines lines = {{{line_of_y(g, 0)}, {line_of_y(g, 1)}, {line_of_y(g, 2)}}};
  with_parts(sum, g, lines, result,
             [&](const ConvSum& parts) { launch(out)(table.depthwise_weight[kind], parts, g.w); });
  return true;
}

// Makes one of x, w and y, of a shape, from the other two in this order; none if tiles refuse.
std::optional<NDArray> compute(ConvResult result, const NDArray& a, const NDArray& b,
                               const NDArray* bias, const Dims& shape, const Settings& settings,
                               bool channels_last, int kind) {
  const DType dtype = kind == kPairs ? DType::Float32 : a.dtype();
  const NDArray out = empty_laid_out(a, shape, dtype, channels_last);
  const bool is_x = result == ConvResult::X, is_w = result == ConvResult::W;
  const bool done = fill_from(is_x ? out : a, is_w ? out : b,
                              is_x   ? a
                              : is_w ? b
                                     : out,
                              bias, settings, result, kind);
  return done ? std::optional(out) : std::nullopt;
}

// The same; halves for which the device has no kernels as float32, or bfloat16 as pairs.
NDArray compute_halves(ConvResult result, const NDArray& a, const NDArray& b, const NDArray* bias,
                       const Dims& shape, const Settings& settings, bool channels_last) {
  const int kind = float_kind(a.dtype());
  const ConvTable& table = *backend_of(a).conv;
  if (!is_half(a.dtype()) || table.sum[kind])
    return *compute(result, a, b, bias, shape, settings, channels_last, kind);
  const bool ungrouped = a.dtype() == DType::BFloat16 && settings.groups == 1;
  const auto in_float = [&] {  // whose copies are gone before there is a result
    const std::optional<NDArray> wide = prepared(bias, DType::Float32);
    const NDArray* const wide_bias = wide ? &*wide : nullptr;
    if (ungrouped && table.pairs.sum) {
      // What is summed over: images, channels of y, channels of x.
      const int of_a = result == ConvResult::W ? 0 : 1, of_b = result == ConvResult::Y ? 1 : 0;
      return *compute(result, paired(a, of_a), paired(b, of_b), wide_bias, shape, settings,
                      channels_last, kPairs);
    }
    return *compute(result, astype(a, DType::Float32), astype(b, DType::Float32), wide_bias, shape,
                    settings, channels_last, 0);
  };
  if (ungrouped && table.tiles.sum) {
    Recording* const r = recording();
    const size_t first = r ? r->steps.size() : 0;
    const auto out = compute(result, a, b, bias, shape, settings, channels_last, kTiles);
    const auto again = [&] {
      const NDArray wide = in_float();
      copy_into(*out, &wide);
    };
    if (out && r) r->otherwise(first, again);
    if (out) return *out;
    refuse_recording("multiplies by tiles, which have refused values");
  }
  return astype(in_float(), a.dtype());
}

void check_dtypes(const NDArray& a, const NDArray& b, const NDArray* bias) {
  auto check = [&](const char* name, const NDArray& other) {
    if (other.dtype() != a.dtype())
      throw RuntimeError("Input type (", cpp_name(a.dtype()), ") and ", name, " type (",
                         cpp_name(other.dtype()), ") should be the same");
  };
  if (bias) check("bias", *bias);  // as PyTorch: before the weight
  check("weight", b);
}

// What is left of sizes: "(6 x 6)".
std::string text_of(const Dims& shape, const Dims& padding) {
  std::string text;
  for (int d = 0; d < padding.size(); ++d)
    text += (d ? " x " : "") +
            std::to_string(checked_add(shape[d + 2], checked_mul(2, padding[d], "conv"), "conv"));
  return text;
}

[[noreturn]] void refuse_kernel(const NDArray& x, const NDArray& w, const Dims& padding,
                                const Dims& dilation) {
  Dims reach = w.shape(), none;
  for (int d = 0; d < padding.size(); ++d) {
    reach[d + 2] = checked_add(checked_mul(dilation[d], reach[d + 2] - 1, "conv"), 1, "conv");
    none.push_back(0);
  }
  throw RuntimeError("Calculated padded input size per channel: (", text_of(x.shape(), padding),
                     "). Kernel size: (", text_of(reach, none),
                     "). Kernel size can't be greater than actual input size");
}

}  // namespace

bool conv_channels_last(const NDArray& x, const NDArray& w) {
  // As PyTorch: nothing in one dim but by the weights, and no double in three.
  if (x.ndim() == 5 && x.dtype() == DType::Float64) return false;
  return (x.ndim() > 3 && looks_channels_last(x)) || looks_channels_last(w);
}

NDArray conv_forward(const NDArray& x, const NDArray& w, const NDArray* bias, const Dims& stride,
                     const Dims& padding, const Dims& dilation, int64_t groups,
                     const std::optional<Dims>& size, bool channels_last) {
  if (!size) check_channels(x.shape(), w.shape(), stride.size(), groups, false);
  check_dtypes(x, w, bias);
  Dims sizes;
  for (int d = 0; d < stride.size() && d + 2 < x.ndim() && d + 2 < w.ndim(); ++d) {
    const int64_t room =
        window_room(x.shape()[d + 2], padding[d], dilation[d], w.shape()[d + 2], "conv");
    if (room < 0 && !size) refuse_kernel(x, w, padding, dilation);
    sizes.push_back(room < 0 || stride[d] < 1 ? 0 : room / stride[d] + 1);
  }
  return compute_halves(ConvResult::Y, x, w, bias,
                        joined({x.shape()[0], w.shape()[0]}, size ? *size : sizes),
                        {stride, padding, dilation, groups}, channels_last);
}

bool set_winograd(bool may) { return may_be_winograd.exchange(may); }

NDArray conv_input(const NDArray& y, const NDArray& w, const NDArray* bias, const Dims& size,
                   const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups,
                   bool channels_last) {
  check_dtypes(y, w, bias);
  return compute_halves(ConvResult::X, y, w, bias,
                        joined({y.shape()[0], w.shape()[1] * groups}, size),
                        {stride, padding, dilation, groups}, channels_last);
}

NDArray conv_weight(const NDArray& x, const NDArray& y, const Dims& taps, const Dims& stride,
                    const Dims& padding, const Dims& dilation, int64_t groups, bool channels_last) {
  check_dtypes(x, y, nullptr);
  if (groups < 1) throw RuntimeError("[conv] non-positive groups is not supported");
  return compute_halves(ConvResult::W, x, y, nullptr,
                        joined({y.shape()[1], x.shape()[1] / groups}, taps),
                        {stride, padding, dilation, groups}, channels_last);
}

}  // namespace tt
