// The steps of the optimisers on vectors, built once per instruction set.
//
// The naive versions, which explain the algorithms, are the `_update` methods in tiny_torch/optim/.
// Every expression here repeats theirs operation by operation, and so do the places where a double
// is rounded to the element type: both ways give the same bits.
#include "cpu/optim/loop.h"

namespace tt::cpu {
namespace {

// The gradient to descend: negated for ascent, plus weight_decay * param.
template <class T>
struct Gradient {
  bool maximize, decays;
  T weight_decay;

  Gradient(bool maximize, double weight_decay)
      : maximize(maximize), decays(weight_decay != 0), weight_decay(static_cast<T>(weight_decay)) {}
  Vec<T> operator()(Vec<T> param, Vec<T> grad) const {
    if (maximize) grad = -grad;
    return decays ? grad + weight_decay * param : grad;
  }
};

template <class T>
struct Sgd {
  using Args = SgdArgs;
  Gradient<T> gradient;
  bool has_momentum, nesterov;
  T lr, momentum, fresh;

  explicit Sgd(const SgdArgs& a)
      : gradient(a.maximize, a.weight_decay),
        has_momentum(a.momentum != 0),
        nesterov(a.nesterov),
        lr(static_cast<T>(a.lr)),
        momentum(static_cast<T>(a.momentum)),
        fresh(static_cast<T>(1 - a.dampening)) {}
  void enter(const Chunk&) {}

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> param = memory.load(x.param + i);
    Vec<T> step = gradient(param, memory.load(x.grad + i));
    if (has_momentum) {
      const Vec<T> buffer = memory.load(x.state0 + i) * momentum + fresh * step;
      memory.store(x.state0 + i, buffer);
      step = nesterov ? step + momentum * buffer : buffer;
    }
    memory.store(x.param + i, param + -lr * step);
  }
};

// The larger; NaN if one is.
template <class V>
V larger(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}

// The two running averages that NAdam and RAdam share with Adam.
template <class T>
struct Moments {
  Gradient<T> gradient;
  Average<T> average;
  bool shrinks;
  T shrink, beta2, weight2, eps;

  explicit Moments(const AdamArgs& a)
      : gradient(a.maximize, a.decoupled ? 0 : a.weight_decay),
        average(1 - a.beta1),
        shrinks(a.decoupled && a.weight_decay != 0),
        shrink(static_cast<T>(1 - a.lr * a.weight_decay)),
        beta2(static_cast<T>(a.beta2)),
        weight2(static_cast<T>(1 - a.beta2)),
        eps(static_cast<T>(a.eps)) {}

  struct Loaded {
    Vec<T> param, grad, exp_avg, exp_avg_sq;
  };
  template <class Memory>
  Loaded operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    if (shrinks) param *= shrink;
    const Vec<T> exp_avg = average(memory.load(x.state0 + i), grad);
    const Vec<T> exp_avg_sq = memory.load(x.state1 + i) * beta2 + weight2 * grad * grad;
    memory.store(x.state0 + i, exp_avg);
    memory.store(x.state1 + i, exp_avg_sq);
    return {param, grad, exp_avg, exp_avg_sq};
  }
};

template <class T>
struct Adam {
  using Args = AdamArgs;
  Moments<T> moments;
  bool amsgrad;
  T minus_step_size = 0, correction = 1;  // of the chunk that is being updated

  explicit Adam(const AdamArgs& a) : moments(a), amsgrad(a.amsgrad) {}
  void enter(const Chunk& c) {
    minus_step_size = static_cast<T>(-c.scale[0]);
    correction = static_cast<T>(c.scale[1]);
  }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    auto [param, grad, exp_avg, exp_avg_sq] = moments(x, i, memory);
    if (amsgrad) {
      exp_avg_sq = larger(memory.load(x.state2 + i), exp_avg_sq);
      memory.store(x.state2 + i, exp_avg_sq);
    }
    const Vec<T> denominator = sqrt(exp_avg_sq) / correction + moments.eps;
    memory.store(x.param + i, param + minus_step_size * exp_avg / denominator);
  }
};

template <class T>
struct Nadam {
  using Args = AdamArgs;
  Moments<T> moments;
  T of_grad = 0, of_average = 0, correction = 1;

  explicit Nadam(const AdamArgs& a) : moments(a) {}
  void enter(const Chunk& c) {
    of_grad = static_cast<T>(c.scale[0]);
    of_average = static_cast<T>(c.scale[1]);
    correction = static_cast<T>(c.scale[2]);
  }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const auto [param, grad, exp_avg, exp_avg_sq] = moments(x, i, memory);
    const Vec<T> denominator = sqrt(exp_avg_sq / correction) + moments.eps;
    const Vec<T> moved = param + of_grad * grad / denominator;
    memory.store(x.param + i, moved + of_average * exp_avg / denominator);
  }
};

template <class T>
struct Radam {
  using Args = AdamArgs;
  Moments<T> moments;
  T lr, correction = 1, root = 1, rectifier = 0;

  explicit Radam(const AdamArgs& a) : moments(a), lr(static_cast<T>(a.lr)) {}
  void enter(const Chunk& c) {
    correction = static_cast<T>(c.scale[0]);
    root = static_cast<T>(c.scale[1]);
    rectifier = static_cast<T>(c.scale[2]);
  }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const auto [param, grad, exp_avg, exp_avg_sq] = moments(x, i, memory);
    Vec<T> step = exp_avg / correction * lr;
    if (rectifier != 0) step = step * (root / (sqrt(exp_avg_sq) + moments.eps)) * rectifier;
    memory.store(x.param + i, param - step);
  }
};

template <class T>
struct Adamax {
  using Args = AdamaxArgs;
  Gradient<T> gradient;
  Average<T> average;
  T beta2, eps, minus_step_size = 0;

  explicit Adamax(const AdamaxArgs& a)
      : gradient(a.maximize, a.weight_decay),
        average(1 - a.beta1),
        beta2(static_cast<T>(a.beta2)),
        eps(static_cast<T>(a.eps)) {}
  void enter(const Chunk& c) { minus_step_size = static_cast<T>(-c.scale[0]); }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    const Vec<T> exp_avg = average(memory.load(x.state0 + i), grad);
    const Vec<T> exp_inf = larger(memory.load(x.state1 + i) * beta2, abs(grad) + eps);
    memory.store(x.state0 + i, exp_avg);
    memory.store(x.state1 + i, exp_inf);
    memory.store(x.param + i, param + minus_step_size * exp_avg / exp_inf);
  }
};

template <class T>
struct Rmsprop {
  using Args = RmspropArgs;
  Gradient<T> gradient;
  Average<T> average;
  bool has_momentum, centered;
  T lr, alpha, weight, eps, momentum;

  explicit Rmsprop(const RmspropArgs& a)
      : gradient(a.maximize, a.weight_decay),
        average(1 - a.alpha),
        has_momentum(a.momentum > 0),
        centered(a.centered),
        lr(static_cast<T>(a.lr)),
        alpha(static_cast<T>(a.alpha)),
        weight(static_cast<T>(1 - a.alpha)),
        eps(static_cast<T>(a.eps)),
        momentum(static_cast<T>(a.momentum)) {}
  void enter(const Chunk&) {}

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    const Vec<T> square_avg = memory.load(x.state0 + i) * alpha + weight * grad * grad;
    memory.store(x.state0 + i, square_avg);
    Vec<T> variance = square_avg;
    if (centered) {
      const Vec<T> grad_avg = average(memory.load(x.state2 + i), grad);
      memory.store(x.state2 + i, grad_avg);
      variance -= grad_avg * grad_avg;
    }
    const Vec<T> denominator = sqrt(variance) + eps;
    if (has_momentum) {
      const Vec<T> buffer = memory.load(x.state1 + i) * momentum + grad / denominator;
      memory.store(x.state1 + i, buffer);
      memory.store(x.param + i, param + -lr * buffer);
    } else {
      memory.store(x.param + i, param + -lr * grad / denominator);
    }
  }
};

template <class T>
struct Adagrad {
  using Args = AdagradArgs;
  Gradient<T> gradient;
  T eps, minus_lr = 0;

  explicit Adagrad(const AdagradArgs& a)
      : gradient(a.maximize, a.weight_decay), eps(static_cast<T>(a.eps)) {}
  void enter(const Chunk& c) { minus_lr = static_cast<T>(-c.scale[0]); }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    const Vec<T> sum = memory.load(x.state0 + i) + grad * grad;
    memory.store(x.state0 + i, sum);
    memory.store(x.param + i, param + minus_lr * grad / (sqrt(sum) + eps));
  }
};

template <class T>
struct Adadelta {
  using Args = AdadeltaArgs;
  Gradient<T> gradient;
  T minus_lr, rho, weight, eps;

  explicit Adadelta(const AdadeltaArgs& a)
      : gradient(a.maximize, a.weight_decay),
        minus_lr(static_cast<T>(-a.lr)),
        rho(static_cast<T>(a.rho)),
        weight(static_cast<T>(1 - a.rho)),
        eps(static_cast<T>(a.eps)) {}
  void enter(const Chunk&) {}

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    const Vec<T> square_avg = memory.load(x.state0 + i) * rho + weight * grad * grad;
    const Vec<T> acc_delta = memory.load(x.state1 + i);
    const Vec<T> delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad;
    memory.store(x.state0 + i, square_avg);
    memory.store(x.state1 + i, acc_delta * rho + weight * delta * delta);
    memory.store(x.param + i, param + minus_lr * delta);
  }
};

template <class T>
struct Rprop {
  using Args = RpropArgs;
  bool maximize;
  T eta_minus, eta_plus, smallest, largest;

  explicit Rprop(const RpropArgs& a)
      : maximize(a.maximize),
        eta_minus(static_cast<T>(a.eta_minus)),
        eta_plus(static_cast<T>(a.eta_plus)),
        smallest(static_cast<T>(a.smallest)),
        largest(static_cast<T>(a.largest)) {}
  void enter(const Chunk&) {}

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    const Vec<T> zero{}, one = splat<T>(1);
    Vec<T> grad = memory.load(x.grad + i);
    if (maximize) grad = -grad;
    const Vec<T> agreement = grad * memory.load(x.state0 + i);
    const Vec<T> factor = agreement > 0 ? splat(eta_plus) : agreement < 0 ? splat(eta_minus) : one;
    const Vec<T> size = clamp(memory.load(x.state1 + i) * factor, smallest, largest);
    grad = agreement < 0 ? zero : grad;  // after a change of sign it waits a step
    memory.store(x.state0 + i, grad);
    memory.store(x.state1 + i, size);
    const Vec<T> sign = grad > 0 ? one : grad < 0 ? -one : zero;
    memory.store(x.param + i, memory.load(x.param + i) - sign * size);
  }
};

template <class T>
struct Asgd {
  using Args = AsgdArgs;
  Gradient<T> gradient;
  bool averages = false;
  T shrink = 1, minus_eta = 0, mu = 1;

  explicit Asgd(const AsgdArgs& a) : gradient(a.maximize, a.weight_decay) {}
  void enter(const Chunk& c) {
    shrink = static_cast<T>(c.scale[0]);
    minus_eta = static_cast<T>(-c.scale[1]);
    mu = static_cast<T>(c.scale[2]);
    averages = c.scale[2] != 1;
  }

  template <class Memory>
  void operator()(const Arrays<T>& x, int64_t i, Memory memory) const {
    Vec<T> param = memory.load(x.param + i);
    const Vec<T> grad = gradient(param, memory.load(x.grad + i));
    param = param * shrink + minus_eta * grad;
    memory.store(x.param + i, param);
    if (averages) {
      const Vec<T> old = memory.load(x.state0 + i);
      memory.store(x.state0 + i, old + (param - old) * mu);
    } else {
      memory.store(x.state0 + i, param);
    }
  }
};

}  // namespace
}  // namespace tt::cpu

namespace tt::cpu::TT_ISA {
extern const ForeachTable foreach_table;  // foreach.cpp
extern const OptimTable optim_table = {
    steps<Sgd>(),    steps<Adam>(),    steps<Nadam>(),   steps<Radam>(),
    steps<Adamax>(), steps<Rmsprop>(), steps<Adagrad>(), steps<Adadelta>(),
    steps<Rprop>(),  steps<Asgd>(),    &foreach_table,
};
}  // namespace tt::cpu::TT_ISA
