// Layer norm and RMS norm: the means and variances of a few rows while they are in the first cache,
// then their answers. Built once per instruction set.
#include "core/tables/layer_norm.h"

#include "cpu/infra/exact_moments.h"
#include "cpu/infra/line_views.h"
#include "cpu/infra/lines.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

template <class S, bool kCentered>
void forward_rows(const void* args, char* const* data, const int64_t* steps, int64_t position,
                  int64_t count) {
  using T = Computed<S>;
  const auto& a = *static_cast<const LayerNormArgs*>(args);
  const Rows<S> rows{data, steps, a.lines.size, count};
  const T n = static_cast<T>(a.lines.size), eps = static_cast<T>(a.eps);
  typename Rows<S>::Stat sum[1], sums[2], mean{};
  if constexpr (kCentered) {
    rows.reduce(sum, T(0), Plus(), [](const auto& at, Vec<T>(&term)[1]) { term[0] = at.load(0); });
    mean = sum[0].map([=](Vec<T> v) { return v / n; });
  }
  rows.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[2]) {
    terms[0] = kCentered ? at.load(0, mean.line(at.number)) - mean[at] : at.load(0);
    terms[1] = terms[0] * terms[0];
  });
  Vec<T> squares = sums[1].vectors[0];
  typename Rows<S>::Stat rest{}, rstd, shift;  // rest: what rounding has left of the mean
  if constexpr (kCentered) {
    rest.vectors[0] = sums[0].vectors[0] / n;
    squares -= rest.vectors[0] * sums[0].vectors[0];
  }
  const Vec<T> variance = squares / n + eps;
  rstd.vectors[0] = 1 / sqrt(variance);
  for (int64_t k = 0; k < count; ++k) {
    if (!is_out_of_range(variance[k])) continue;
    const S* const x = rows.at_line(0, 0, k);
    const ExactMoments exact = exact_moments(a.lines.size, kCentered, [&](auto f) {
      for (int64_t i = 0; i < a.lines.size; ++i) f(static_cast<double>(x[i]));
    });
    mean.line(k) = static_cast<T>(exact.mean);
    rest.line(k) = static_cast<T>(exact.mean - static_cast<double>(mean.line(k)));
    rstd.line(k) = static_cast<T>(1 / __builtin_sqrt(exact.variance + a.eps));
  }
  shift.vectors[0] = -rest.vectors[0] * rstd.vectors[0];
  T* stats = numbers<T>(a.stats) + 3 * position;
  for (int64_t k = 0; k < count; ++k, stats += 3)
    stats[0] = mean.line(k), stats[1] = rest.line(k), stats[2] = rstd.line(k);
  const T *weight = numbers<T>(a.weight), *bias = numbers<T>(a.bias);
  rows.each([&](const auto& at) {
    at.prefetch_next(0), at.prefetch(1);
    Vec<T> y = multiply_add(at.load(0) - mean[at], rstd[at], shift[at]);
    if (weight) y *= at.load_class(weight);
    if (bias) y += at.load_class(bias);
    at.store(1, y);
  });
}

// dx = (g - mean(g) - x' mean(g x')) rstd, where g = grad weight and x' = (x - mean) rstd.
template <class S, bool kCentered>
void backward_rows(const void* args, char* const* data, const int64_t* steps, int64_t position,
                   int64_t count) {
  using T = Computed<S>;
  const auto& a = *static_cast<const LayerNormArgs*>(args);
  const Rows<S> rows{data, steps, a.lines.size, count};
  const T n = static_cast<T>(a.lines.size);
  const T* const weight = numbers<T>(a.weight);
  typename Rows<S>::Stat mean, rstd, shift, sums[2];
  const T* stats = numbers<T>(a.stats) + 3 * position;
  for (int64_t k = 0; k < count; ++k, stats += 3)
    mean.line(k) = stats[0], shift.line(k) = -stats[1] * stats[2], rstd.line(k) = stats[2];
  const auto normalised = [&](const auto& at, Vec<T> x) {
    return multiply_add(x - mean[at], rstd[at], shift[at]);
  };
  rows.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[2]) {
    terms[0] = at.load(0);
    if (weight) terms[0] *= at.load_class(weight);
    terms[1] = terms[0] * normalised(at, at.load(1));
  });
  const auto middle = sums[0].map([=](Vec<T> v) { return kCentered ? v / n : Vec<T>{}; });
  const auto slope = sums[1].map([=](Vec<T> v) { return v / n; });
  T* const weight_grad =
      a.sums ? numbers<T>(a.sums) + position / a.group * 2 * a.lines.size : nullptr;
  T* const bias_grad = weight_grad + (a.sums ? a.lines.size : 0);
  if (a.sums && position % a.group == 0)
    for (int64_t i = 0; i < 2 * a.lines.size; ++i) weight_grad[i] = 0;
  struct Grads {
    Vec<T> weight, bias;
  };
  rows.across(
      [&](const auto& at) {
        return weight_grad ? Grads{at.load_class(weight_grad), at.load_class(bias_grad)} : Grads{};
      },
      [&](const auto& at, Grads& grads) {
        const Vec<T> grad = at.load(0), scaled = normalised(at, at.load(1));
        grads.weight += grad * scaled;
        grads.bias += grad;
        const Vec<T> g = weight ? grad * at.load_class(weight) : grad;
        at.store(2, (g - middle[at] - scaled * slope[at]) * rstd[at]);
      },
      [&](const auto& at, const Grads& grads) {
        if (!weight_grad) return;
        at.store_class(weight_grad, grads.weight);
        at.store_class(bias_grad, grads.bias);
      });
}

// Of float32, float64, float16 and bfloat16.
template <bool kCentered>
constexpr LineKernels::Rows kForward[4] = {
    forward_rows<float, kCentered>, forward_rows<double, kCentered>, forward_rows<Half, kCentered>,
    forward_rows<BFloat16, kCentered>};
template <bool kCentered>
constexpr LineKernels::Rows kBackward[4] = {
    backward_rows<float, kCentered>, backward_rows<double, kCentered>,
    backward_rows<Half, kCentered>, backward_rows<BFloat16, kCentered>};

void run(const LayerNormArgs& a, const LineKernels::Rows (&kernels)[4]) {
  constexpr int64_t kNever = LineKernels::kNever;
  const bool single = a.lines.compute == DType::Float32;
  LineKernels of = {kernels[single ? 0 : 1],
                    single ? Rows<float>::kMost : Rows<double>::kMost,
                    {},
                    {kNever, kNever}};
  if (single) of.halves[0] = kernels[2], of.halves[1] = kernels[3];
  run_lines(a.lines, of, &a, kGrain / 2, a.group);
}

// The groups' sums, one after the other.
template <class T>
void add_groups(const LayerNormArgs& a) {
  const int64_t size = a.lines.size;
  const int64_t groups = size ? (a.lines.count + a.group - 1) / a.group : 0;
  const T* sum = numbers<T>(a.sums);
  T *const weight_grad = numbers<T>(a.weight_grad), *const bias_grad = numbers<T>(a.bias_grad);
  for (int64_t i = 0; i < size; ++i) weight_grad[i] = 0, bias_grad[i] = 0;
  for (int64_t g = 0; g < groups; ++g, sum += 2 * size) {
    for (int64_t i = 0; i < size; ++i) weight_grad[i] += sum[i];
    for (int64_t i = 0; i < size; ++i) bias_grad[i] += sum[size + i];
  }
}

void layer_norm(const LayerNormArgs& a) { run(a, a.centered ? kForward<true> : kForward<false>); }

void layer_norm_backward(const LayerNormArgs& a) {
  if (a.lines.count && a.lines.size) run(a, a.centered ? kBackward<true> : kBackward<false>);
  if (a.sums) a.lines.compute == DType::Float32 ? add_groups<float>(a) : add_groups<double>(a);
}

}  // namespace

namespace TT_ISA {
extern const LayerNormTable layer_norm_table = {layer_norm, layer_norm_backward};
}

}  // namespace tt::cpu
