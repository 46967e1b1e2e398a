// Layer norm and RMS norm: a line by a warp or a block, which reads it once (infra/held.h). The
// gradients of the weights go down the lines: a thread per element of a line and group of lines.
#include "core/formulas/float_range.h"
#include "core/tables/layer_norm.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/held.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

template <class T, int kLanes>
__global__ void layer_norm_line(const DeviceLines lines, const bool centered, const T* const weight,
                                const T* const bias, const T eps, T* const stats) {
  using Team = Team<kLanes>;
  const int64_t line = Team::line();
  if (line >= lines.count) return;
  const Line<T> y(lines, 1, line);
  const Held<T, kLanes> x({lines, 0, line}, lines.size);
  const T n = static_cast<T>(lines.size);
  T mean = 0;
  if (centered) {
    x.each([&](T value, int64_t) { mean += value; });
    mean = Team::sum(mean) / n;
  }
  T rest = 0, squares = 0;  // rest: what rounding has left of the mean
  x.each([&](T value, int64_t) {
    const T distance = value - mean;
    rest += distance;
    squares += distance * distance;
  });
  squares = Team::sum(squares);
  if (centered) {
    rest = Team::sum(rest);
    squares -= rest / n * rest;
    rest /= n;
  } else {
    rest = 0;
  }
  T rstd = T(1) / sqrt(squares / n + eps);
  if (is_out_of_range(static_cast<double>(squares / n + eps))) {  // the same in double
    const double count = static_cast<double>(lines.size);
    double middle = 0, exact = 0;
    if (centered) {
      x.each([&](T value, int64_t) { middle += static_cast<double>(value); });
      middle = Team::sum(middle) / count;
    }
    x.each([&](T value, int64_t) {
      const double distance = static_cast<double>(value) - middle;
      exact += distance * distance;
    });
    mean = static_cast<T>(middle);
    rest = static_cast<T>(middle - static_cast<double>(mean));
    rstd = static_cast<T>(1 / sqrt(Team::sum(exact) / count + static_cast<double>(eps)));
  }
  if (Team::lane() == 0) {
    stats[3 * line] = mean;
    stats[3 * line + 1] = rest;
    stats[3 * line + 2] = rstd;
  }
  x.each([&](T value, int64_t k) {
    value = (value - mean - rest) * rstd;
    if (weight) value *= weight[k];
    if (bias) value += bias[k];
    y.set_floating(k, value);
  });
}

// (x - mean) rstd, of a line's statistics.
template <class T>
__device__ T normalised(const T x, const T* const stats) {
  return (x - stats[0] - stats[1]) * stats[2];
}

// dx = (g - mean(g) - x' mean(g x')) rstd, where g = grad weight and x' = (x - mean) rstd.
template <class T, int kLanes>
__global__ void layer_norm_line_backward(const DeviceLines lines, const bool centered,
                                         const T* const weight, const T* const stats) {
  using Team = Team<kLanes>;
  const int64_t line = Team::line();
  if (line >= lines.count) return;
  const Line<T> dx(lines, 2, line);
  const Held<T, kLanes> grad({lines, 0, line}, lines.size), x({lines, 1, line}, lines.size);
  const T* const of_line = stats + 3 * line;
  const auto weighted = [&](T g, int64_t k) { return weight ? g * weight[k] : g; };
  T sum = 0, moment = 0;
  grad.each(x, [&](T g, T x, int64_t k) {
    sum += weighted(g, k);
    moment += weighted(g, k) * normalised(x, of_line);
  });
  const T n = static_cast<T>(lines.size);
  const T middle = centered ? Team::sum(sum) / n : T(0), slope = Team::sum(moment) / n;
  grad.each(x, [&](T g, T x, int64_t k) {
    const T scaled = normalised(x, of_line);
    dx.set_floating(k, (weighted(g, k) - middle - scaled * slope) * of_line[2]);
  });
}

// sums[g] = the gradients of weight and bias from the lines of group g.
template <class T>
__global__ void weight_sums(const DeviceLines lines, const T* const stats, const int64_t group,
                            const int64_t groups, T* const sums) {
  const int64_t i = thread_index();
  if (i >= groups * lines.size) return;
  const int64_t g = i / lines.size, k = i % lines.size;
  const int64_t end = (g + 1) * group < lines.count ? (g + 1) * group : lines.count;
  T weight_grad = 0, bias_grad = 0;
  for (int64_t line = g * group; line < end; ++line) {
    const Line<T> grad(lines, 0, line), x(lines, 1, line);
    weight_grad += grad[k] * normalised(x[k], stats + 3 * line);
    bias_grad += grad[k];
  }
  sums[2 * g * lines.size + k] = weight_grad;
  sums[(2 * g + 1) * lines.size + k] = bias_grad;
}

// The groups' sums, one after the other.
template <class T>
__global__ void add_groups(const T* const sums, const int64_t groups, const int64_t size,
                           T* const weight_grad, T* const bias_grad) {
  const int64_t k = thread_index();
  if (k >= size) return;
  T weight = 0, bias = 0;
  for (int64_t g = 0; g < groups; ++g) {
    weight += sums[2 * g * size + k];
    bias += sums[(2 * g + 1) * size + k];
  }
  weight_grad[k] = weight;
  bias_grad[k] = bias;
}

template <class T>
void forward(const LayerNormArgs& a) {
  with_team(a.lines.count, a.lines.size, [&](const Grid& grid, auto lanes) {
    launch<layer_norm_line<T, lanes()>>(grid, on_device(a.lines), a.centered, numbers<T>(a.weight),
                                        numbers<T>(a.bias), static_cast<T>(a.eps),
                                        numbers<T>(a.stats));
  });
}

// The weights first: dx may lie over x.
template <class T>
void backward(const LayerNormArgs& a) {
  const DeviceLines lines = on_device(a.lines);
  const T* const stats = numbers<T>(a.stats);
  if (a.sums) {
    const int64_t groups = lines.size ? (lines.count + a.group - 1) / a.group : 0;
    launch<weight_sums<T>>(grid_of(groups * lines.size), lines, stats, a.group, groups,
                           numbers<T>(a.sums));
    launch<add_groups<T>>(grid_of(lines.size), numbers<T>(a.sums), groups, lines.size,
                          numbers<T>(a.weight_grad), numbers<T>(a.bias_grad));
  }
  if (!lines.size) return;
  with_team(lines.count, lines.size, [&](const Grid& grid, auto lanes) {
    launch<layer_norm_line_backward<T, lanes()>>(grid, lines, a.centered, numbers<T>(a.weight),
                                                 stats);
  });
}

void layer_norm(const LayerNormArgs& a) {
  a.lines.compute == DType::Float32 ? forward<float>(a) : forward<double>(a);
}
void layer_norm_backward(const LayerNormArgs& a) {
  a.lines.compute == DType::Float32 ? backward<float>(a) : backward<double>(a);
}

}  // namespace

const LayerNormTable layer_norm_table = {layer_norm, layer_norm_backward};

}  // namespace tt::cuda
