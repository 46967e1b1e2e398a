// The steps of the optimisers, and what else is done to each element of a list of arrays: over
// Place, which reads and writes V, a vector of elements T or one element.
//
// The naive versions, which explain the algorithms, are the `_change` methods in tiny_torch/optim/.
// Every expression here repeats theirs operation by operation, and so do the places where a double
// is rounded to the element type: both ways give the same bits.
//
// Included inside a kernel file's own anonymous namespace (Note [No weak symbols]), after
// core/tables/optim.h and a header that defines broadcast<V>(element), clamp(x, low, high), abs,
// sqrt, any(mask) and tell(found), by which several threads may say the same.

// The gradient to descend: negated for ascent, plus weight_decay * param.
template <class T, class V>
TT_HOST_DEVICE V descent(bool maximize, T weight_decay, V param, V grad) {
  if (maximize) grad = -grad;
  return weight_decay != 0 ? grad + weight_decay * param : grad;
}

// The larger; NaN if one is.
template <class V>
TT_HOST_DEVICE V larger(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}

// A running average that moves towards x by `weight`: lerp of core/formulas/functors.h, exact at
// either end.
template <class T, class V>
TT_HOST_DEVICE V average(V old, V x, T weight) {
  const bool near_old = weight > T(-0.5) && weight < T(0.5);
  return near_old ? old + weight * (x - old) : x - (x - old) * (1 - weight);
}

// The head of an algorithm's step, whose settings are `a`, on the element or vector at `x`.
#define TT_STEP(Settings)                                                          \
  using Args = Settings;                                                           \
  template <class Place, class T = typename Place::T, class V = typename Place::V> \
  TT_HOST_DEVICE static void step(const Args& a, const Place& x)

struct Sgd {
  TT_STEP(SgdArgs) {
    const V param = x.param();
    V step = descent(a.maximize, T(a.weight_decay), param, x.grad());
    if (a.momentum != 0) {
      const V buffer = x.state(0) * T(a.momentum) + T(1 - a.dampening) * step;
      x.set_state(0, buffer);
      step = a.nesterov ? step + T(a.momentum) * buffer : buffer;
    }
    x.set_param(param + -T(a.lr) * step);
  }
};

// What Adam, NAdam and RAdam share: the two running averages, which it stores.
template <class T, class V>
struct Moments {
  V param, grad, exp_avg, exp_avg_sq;

  template <class Place>
  TT_HOST_DEVICE Moments(const AdamArgs& a, const Place& x) {
    const bool shrinks = a.decoupled && a.weight_decay != 0;
    param = x.param();
    grad = descent(a.maximize, T(a.decoupled ? 0 : a.weight_decay), param, x.grad());
    if (shrinks) param *= T(1 - a.lr * a.weight_decay);
    exp_avg = average(x.state(0), grad, T(1 - a.beta1));
    exp_avg_sq = x.state(1) * T(a.beta2) + T(1 - a.beta2) * grad * grad;
    x.set_state(0, exp_avg);
    x.set_state(1, exp_avg_sq);
  }
};

struct Adam {
  TT_STEP(AdamArgs) {
    Moments<T, V> m(a, x);
    if (a.amsgrad) {
      m.exp_avg_sq = larger(x.state(2), m.exp_avg_sq);
      x.set_state(2, m.exp_avg_sq);
    }
    const V denominator = sqrt(m.exp_avg_sq) / T(x.scale(1)) + T(a.eps);
    x.set_param(m.param + T(-x.scale(0)) * m.exp_avg / denominator);
  }
};

struct Nadam {
  TT_STEP(AdamArgs) {
    const Moments<T, V> m(a, x);
    const V denominator = sqrt(m.exp_avg_sq / T(x.scale(2))) + T(a.eps);
    const V moved = m.param + T(x.scale(0)) * m.grad / denominator;
    x.set_param(moved + T(x.scale(1)) * m.exp_avg / denominator);
  }
};

struct Radam {
  TT_STEP(AdamArgs) {
    const T correction = T(x.scale(0)), root = T(x.scale(1)), rectifier = T(x.scale(2));
    const Moments<T, V> m(a, x);
    V step = m.exp_avg / correction * T(a.lr);
    if (rectifier != 0) step = step * (root / (sqrt(m.exp_avg_sq) + T(a.eps))) * rectifier;
    x.set_param(m.param - step);
  }
};

struct Adamax {
  TT_STEP(AdamaxArgs) {
    const V param = x.param();
    const V grad = descent(a.maximize, T(a.weight_decay), param, x.grad());
    const V exp_avg = average(x.state(0), grad, T(1 - a.beta1));
    const V exp_inf = larger(x.state(1) * T(a.beta2), abs(grad) + T(a.eps));
    x.set_state(0, exp_avg);
    x.set_state(1, exp_inf);
    x.set_param(param + T(-x.scale(0)) * exp_avg / exp_inf);
  }
};

struct Rmsprop {
  TT_STEP(RmspropArgs) {
    const T minus_lr = -T(a.lr);
    const V param = x.param();
    const V grad = descent(a.maximize, T(a.weight_decay), param, x.grad());
    const V square_avg = x.state(0) * T(a.alpha) + T(1 - a.alpha) * grad * grad;
    x.set_state(0, square_avg);
    V variance = square_avg;
    if (a.centered) {
      const V grad_avg = average(x.state(2), grad, T(1 - a.alpha));
      x.set_state(2, grad_avg);
      variance -= grad_avg * grad_avg;
    }
    const V denominator = sqrt(variance) + T(a.eps);
    if (a.momentum > 0) {
      const V buffer = x.state(1) * T(a.momentum) + grad / denominator;
      x.set_state(1, buffer);
      x.set_param(param + minus_lr * buffer);
    } else {
      x.set_param(param + minus_lr * grad / denominator);
    }
  }
};

struct Adagrad {
  TT_STEP(AdagradArgs) {
    const V param = x.param();
    const V grad = descent(a.maximize, T(a.weight_decay), param, x.grad());
    const V sum = x.state(0) + grad * grad;
    x.set_state(0, sum);
    x.set_param(param + T(-x.scale(0)) * grad / (sqrt(sum) + T(a.eps)));
  }
};

struct Adadelta {
  TT_STEP(AdadeltaArgs) {
    const T rho = T(a.rho), weight = T(1 - a.rho), eps = T(a.eps);
    const V param = x.param();
    const V grad = descent(a.maximize, T(a.weight_decay), param, x.grad());
    const V square_avg = x.state(0) * rho + weight * grad * grad;
    const V acc_delta = x.state(1);
    const V delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad;
    x.set_state(0, square_avg);
    x.set_state(1, acc_delta * rho + weight * delta * delta);
    x.set_param(param + T(-a.lr) * delta);
  }
};

struct Rprop {
  TT_STEP(RpropArgs) {
    const V zero{}, one = broadcast<V>(T(1));
    const V minus = broadcast<V>(T(a.eta_minus)), plus = broadcast<V>(T(a.eta_plus));
    V grad = x.grad();
    if (a.maximize) grad = -grad;
    const V agreement = grad * x.state(0);
    const V factor = agreement > 0 ? plus : agreement < 0 ? minus : one;
    const V size = clamp(x.state(1) * factor, T(a.smallest), T(a.largest));
    grad = agreement < 0 ? zero : grad;  // after a change of sign it waits a step
    x.set_state(0, grad);
    x.set_state(1, size);
    const V sign = grad > 0 ? one : grad < 0 ? -one : zero;
    x.set_param(x.param() - sign * size);
  }
};

struct Asgd {
  TT_STEP(AsgdArgs) {
    const V before = x.param();
    const V grad = descent(a.maximize, T(a.weight_decay), before, x.grad());
    const V param = before * T(x.scale(0)) + T(-x.scale(1)) * grad;
    x.set_param(param);
    if (x.scale(2) != 1) {
      const V old = x.state(0);
      x.set_state(0, old + (param - old) * T(x.scale(2)));
    } else {
      x.set_state(0, param);
    }
  }
};

// ---- of lists besides optimiser steps
// ------------------------------------------------------------
struct Scale {
  TT_STEP(ScaleArgs) {
    const V param = x.param();
    if (a.found && any(param - param != 0)) tell(a.found);
    double factor = a.factor;
    if (a.factor_there)
      factor = a.single ? *static_cast<const float*>(a.factor_there)
                        : *static_cast<const double*>(a.factor_there);
    x.set_param(param * T(factor));
  }
};

struct Clamp {
  TT_STEP(ClampArgs) { x.set_param(clamp(x.param(), T(a.low), T(a.high))); }
};

struct Lerp {
  TT_STEP(LerpArgs) { x.set_param(average(x.param(), x.grad(), T(a.weight))); }
};
#undef TT_STEP
