// The steps of the optimisers on vectors, built once per instruction set.
//
// The naive versions, which explain the algorithms, are the `_update` methods in tiny_torch/optim/.
// Every expression here repeats theirs operation by operation, and so do the places where a double
// is rounded to the element type: both ways give the same bits. `scale` are the chunk's numbers.
#include "cpu/optim/loop.h"

namespace tt::cpu {
namespace {

// The gradient to descend: negated for ascent, plus weight_decay * param.
template <class T, class V>
V descent(bool maximize, T weight_decay, V param, V grad) {
  if (maximize) grad = -grad;
  return weight_decay != 0 ? grad + weight_decay * param : grad;
}

constexpr auto kSgd = [](const SgdArgs& a, const double*, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const T momentum = T(a.momentum), fresh = T(1 - a.dampening);
  const Vec<T> param = x.load(x.param);
  Vec<T> step = descent(a.maximize, T(a.weight_decay), param, x.load(x.grad));
  if (a.momentum != 0) {
    const Vec<T> buffer = x.load(x.state0) * momentum + fresh * step;
    x.store(x.state0, buffer);
    step = a.nesterov ? step + momentum * buffer : buffer;
  }
  x.store(x.param, param + -T(a.lr) * step);
};

// The larger; NaN if one is.
template <class V>
V larger(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}

// What Adam, NAdam and RAdam share: the two running averages, which it stores.
template <class T>
struct Moments {
  Vec<T> param, grad, exp_avg, exp_avg_sq;

  template <class Place>
  Moments(const AdamArgs& a, const Place& x) {
    const bool shrinks = a.decoupled && a.weight_decay != 0;
    param = x.load(x.param);
    grad = descent(a.maximize, T(a.decoupled ? 0 : a.weight_decay), param, x.load(x.grad));
    if (shrinks) param *= T(1 - a.lr * a.weight_decay);
    exp_avg = average(x.load(x.state0), grad, T(1 - a.beta1));
    exp_avg_sq = x.load(x.state1) * T(a.beta2) + T(1 - a.beta2) * grad * grad;
    x.store(x.state0, exp_avg);
    x.store(x.state1, exp_avg_sq);
  }
};

constexpr auto kAdam = [](const AdamArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  Moments<T> m(a, x);
  if (a.amsgrad) {
    m.exp_avg_sq = larger(x.load(x.state2), m.exp_avg_sq);
    x.store(x.state2, m.exp_avg_sq);
  }
  const Vec<T> denominator = sqrt(m.exp_avg_sq) / T(scale[1]) + T(a.eps);
  x.store(x.param, m.param + T(-scale[0]) * m.exp_avg / denominator);
};

constexpr auto kNadam = [](const AdamArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const Moments<T> m(a, x);
  const Vec<T> denominator = sqrt(m.exp_avg_sq / T(scale[2])) + T(a.eps);
  const Vec<T> moved = m.param + T(scale[0]) * m.grad / denominator;
  x.store(x.param, moved + T(scale[1]) * m.exp_avg / denominator);
};

constexpr auto kRadam = [](const AdamArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const T correction = T(scale[0]), root = T(scale[1]), rectifier = T(scale[2]);
  const Moments<T> m(a, x);
  Vec<T> step = m.exp_avg / correction * T(a.lr);
  if (rectifier != 0) step = step * (root / (sqrt(m.exp_avg_sq) + T(a.eps))) * rectifier;
  x.store(x.param, m.param - step);
};

constexpr auto kAdamax = [](const AdamaxArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const Vec<T> param = x.load(x.param);
  const Vec<T> grad = descent(a.maximize, T(a.weight_decay), param, x.load(x.grad));
  const Vec<T> exp_avg = average(x.load(x.state0), grad, T(1 - a.beta1));
  const Vec<T> exp_inf = larger(x.load(x.state1) * T(a.beta2), abs(grad) + T(a.eps));
  x.store(x.state0, exp_avg);
  x.store(x.state1, exp_inf);
  x.store(x.param, param + T(-scale[0]) * exp_avg / exp_inf);
};

constexpr auto kRmsprop = [](const RmspropArgs& a, const double*, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const T minus_lr = -T(a.lr);
  const Vec<T> param = x.load(x.param);
  const Vec<T> grad = descent(a.maximize, T(a.weight_decay), param, x.load(x.grad));
  const Vec<T> square_avg = x.load(x.state0) * T(a.alpha) + T(1 - a.alpha) * grad * grad;
  x.store(x.state0, square_avg);
  Vec<T> variance = square_avg;
  if (a.centered) {
    const Vec<T> grad_avg = average(x.load(x.state2), grad, T(1 - a.alpha));
    x.store(x.state2, grad_avg);
    variance -= grad_avg * grad_avg;
  }
  const Vec<T> denominator = sqrt(variance) + T(a.eps);
  if (a.momentum > 0) {
    const Vec<T> buffer = x.load(x.state1) * T(a.momentum) + grad / denominator;
    x.store(x.state1, buffer);
    x.store(x.param, param + minus_lr * buffer);
  } else {
    x.store(x.param, param + minus_lr * grad / denominator);
  }
};

constexpr auto kAdagrad = [](const AdagradArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const Vec<T> param = x.load(x.param);
  const Vec<T> grad = descent(a.maximize, T(a.weight_decay), param, x.load(x.grad));
  const Vec<T> sum = x.load(x.state0) + grad * grad;
  x.store(x.state0, sum);
  x.store(x.param, param + T(-scale[0]) * grad / (sqrt(sum) + T(a.eps)));
};

constexpr auto kAdadelta = [](const AdadeltaArgs& a, const double*, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const T rho = T(a.rho), weight = T(1 - a.rho), eps = T(a.eps);
  const Vec<T> param = x.load(x.param);
  const Vec<T> grad = descent(a.maximize, T(a.weight_decay), param, x.load(x.grad));
  const Vec<T> square_avg = x.load(x.state0) * rho + weight * grad * grad;
  const Vec<T> acc_delta = x.load(x.state1);
  const Vec<T> delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad;
  x.store(x.state0, square_avg);
  x.store(x.state1, acc_delta * rho + weight * delta * delta);
  x.store(x.param, param + T(-a.lr) * delta);
};

constexpr auto kRprop = [](const RpropArgs& a, const double*, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const Vec<T> zero{}, one = splat<T>(1), minus = splat(T(a.eta_minus)),
                       plus = splat(T(a.eta_plus));
  Vec<T> grad = x.load(x.grad);
  if (a.maximize) grad = -grad;
  const Vec<T> agreement = grad * x.load(x.state0);
  const Vec<T> factor = agreement > 0 ? plus : agreement < 0 ? minus : one;
  const Vec<T> size = clamp(x.load(x.state1) * factor, T(a.smallest), T(a.largest));
  grad = agreement < 0 ? zero : grad;  // after a change of sign it waits a step
  x.store(x.state0, grad);
  x.store(x.state1, size);
  const Vec<T> sign = grad > 0 ? one : grad < 0 ? -one : zero;
  x.store(x.param, x.load(x.param) - sign * size);
};

constexpr auto kAsgd = [](const AsgdArgs& a, const double* scale, const auto& x) {
  using T = ElementOf<decltype(x)>;
  const Vec<T> before = x.load(x.param);
  const Vec<T> grad = descent(a.maximize, T(a.weight_decay), before, x.load(x.grad));
  const Vec<T> param = before * T(scale[0]) + T(-scale[1]) * grad;
  x.store(x.param, param);
  if (scale[2] != 1) {
    const Vec<T> old = x.load(x.state0);
    x.store(x.state0, old + (param - old) * T(scale[2]));
  } else {
    x.store(x.state0, param);
  }
};

}  // namespace
}  // namespace tt::cpu

namespace tt::cpu::TT_ISA {
extern const ForeachTable foreach_table;  // foreach.cpp
extern const OptimTable optim_table = {
    steps<SgdArgs, kSgd>(),
    steps<AdamArgs, kAdam>(),
    steps<AdamArgs, kNadam>(),
    steps<AdamArgs, kRadam>(),
    steps<AdamaxArgs, kAdamax>(),
    steps<RmspropArgs, kRmsprop>(),
    steps<AdagradArgs, kAdagrad>(),
    steps<AdadeltaArgs, kAdadelta>(),
    steps<RpropArgs, kRprop>(),
    steps<AsgdArgs, kAsgd>(),
    &foreach_table,
};
}  // namespace tt::cpu::TT_ISA
