// Layer norm and RMS norm: a row's mean and variance while it is in the first cache, then its
// answer. Built once per instruction set.
#include "cpu/line_views.h"
#include "cpu/norm.h"
#include "cpu/parallel.h"

namespace tt::cpu {
namespace {

template <class T>
T reciprocal_root(T x) {
  return 1 / (sizeof(T) == 4 ? __builtin_sqrtf(x) : __builtin_sqrt(x));
}

template <class T, bool kCentered>
void forward_row(const void* args, char* const* data, int64_t position) {
  const auto& a = *static_cast<const LayerNormArgs*>(args);
  const Row<T> row{data, a.lines.size};
  const T n = static_cast<T>(a.lines.size);
  typename Row<T>::Stat sum[1], sums[2];
  T mean = 0;
  if constexpr (kCentered) {
    row.reduce(sum, T(0), Plus(), [](const auto& at, Vec<T>(&term)[1]) { term[0] = at.load(0); });
    mean = sum[0].line(0) / n;
  }
  row.reduce(sums, T(0), Plus(), [=](const auto& at, Vec<T>(&terms)[2]) {
    terms[0] = at.load(0, mean) - mean;
    terms[1] = terms[0] * terms[0];
  });
  T squares = sums[1].line(0);
  if constexpr (kCentered) {  // what rounding has left of the mean
    const T rest = sums[0].line(0) / n;
    squares -= rest * sums[0].line(0);
    mean += rest;
  }
  const T rstd = reciprocal_root(squares / n + static_cast<T>(a.eps));
  T* const stats = numbers<T>(a.stats) + 2 * position;
  stats[0] = mean, stats[1] = rstd;
  const T *weight = numbers<T>(a.weight), *bias = numbers<T>(a.bias);
  row.each([=](const auto& at) {
    Vec<T> y = (at.load(0) - mean) * rstd;
    if (weight) y *= at.load_class(weight);
    if (bias) y += at.load_class(bias);
    at.store(1, y);
  });
}

// dx = (g - mean(g) - x' mean(g x')) rstd, where g = grad weight and x' = (x - mean) rstd.
template <class T, bool kCentered>
void backward_row(const void* args, char* const* data, int64_t position) {
  const auto& a = *static_cast<const LayerNormArgs*>(args);
  const Row<T> row{data, a.lines.size};
  const T* const stats = numbers<T>(a.stats) + 2 * position;
  const T mean = stats[0], rstd = stats[1], n = static_cast<T>(a.lines.size);
  const T* const weight = numbers<T>(a.weight);
  typename Row<T>::Stat sums[2];
  row.reduce(sums, T(0), Plus(), [=](const auto& at, Vec<T>(&terms)[2]) {
    terms[0] = at.load(0);
    if (weight) terms[0] *= at.load_class(weight);
    terms[1] = terms[0] * ((at.load(1) - mean) * rstd);
  });
  const T middle = kCentered ? sums[0].line(0) / n : 0, slope = sums[1].line(0) / n;
  T* const weight_grad =
      a.sums ? numbers<T>(a.sums) + position / a.group * 2 * a.lines.size : nullptr;
  T* const bias_grad = weight_grad + (a.sums ? a.lines.size : 0);
  if (a.sums && position % a.group == 0)
    for (int64_t i = 0; i < 2 * a.lines.size; ++i) weight_grad[i] = 0;
  row.each([=](const auto& at) {
    const Vec<T> grad = at.load(0), scaled = (at.load(1) - mean) * rstd;
    if (weight_grad) {
      at.store_class(weight_grad, at.load_class(weight_grad) + grad * scaled);
      at.store_class(bias_grad, at.load_class(bias_grad) + grad);
    }
    const Vec<T> g = weight ? grad * at.load_class(weight) : grad;
    at.store(2, (g - middle - scaled * slope) * rstd);
  });
}

void run(const LayerNormArgs& a, void (*kernel)(const void*, char* const*, int64_t)) {
  constexpr int64_t kNever = LineKernels::kNever;
  run_lines(a.lines, {kernel, {nullptr, nullptr}, {kNever, kNever}}, &a, kGrain / 2, a.group);
}

}  // namespace

namespace TT_ISA {

void layer_norm(const LayerNormArgs& a) {
  if (a.lines.compute == DType::Float32)
    run(a, a.centered ? forward_row<float, true> : forward_row<float, false>);
  else
    run(a, a.centered ? forward_row<double, true> : forward_row<double, false>);
}

void layer_norm_backward(const LayerNormArgs& a) {
  if (a.lines.compute == DType::Float32)
    run(a, a.centered ? backward_row<float, true> : backward_row<float, false>);
  else
    run(a, a.centered ? backward_row<double, true> : backward_row<double, false>);
}

}  // namespace TT_ISA

}  // namespace tt::cpu
