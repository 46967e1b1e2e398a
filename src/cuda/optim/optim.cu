// The steps of the optimisers: an element per thread, and a launch for all parameters of a dtype.
//
// The naive versions, which explain the algorithms, are the `_update` methods in tiny_torch/optim/.
// Every expression here repeats theirs operation by operation, and so do the places where a double
// is rounded to the element type. scale: the chunk's numbers.
#include "cuda/elementwise/math.h"
#include "cuda/infra/tables.h"
#include "cuda/optim/lists.h"

namespace tt::cuda {
namespace {

// The gradient to descend: negated for ascent, plus weight_decay * param.
template <class T>
__device__ T descent(bool maximize, double weight_decay, T param, T grad) {
  if (maximize) grad = -grad;
  return weight_decay != 0 ? grad + T(weight_decay) * param : grad;
}

// The larger; NaN if one is.
template <class T>
__device__ T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

struct Sgd {
  using Args = SgdArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T param = x.param();
    T step = descent(a.maximize, a.weight_decay, param, x.grad());
    if (a.momentum != 0) {
      const T buffer = x.state(0) * T(a.momentum) + T(1 - a.dampening) * step;
      x.state(0) = buffer;
      step = a.nesterov ? step + T(a.momentum) * buffer : buffer;
    }
    x.param() = param + -T(a.lr) * step;
  }
};

// What Adam, NAdam and RAdam share: the two running averages, which it stores.
template <class T>
struct Moments {
  T param, grad, exp_avg, exp_avg_sq;

  __device__ Moments(const AdamArgs& a, const Element<T>& x) {
    param = x.param();
    grad = descent(a.maximize, a.decoupled ? 0 : a.weight_decay, param, x.grad());
    if (a.decoupled && a.weight_decay != 0) param *= T(1 - a.lr * a.weight_decay);
    exp_avg = average(x.state(0), grad, T(1 - a.beta1));
    exp_avg_sq = x.state(1) * T(a.beta2) + T(1 - a.beta2) * grad * grad;
    x.state(0) = exp_avg;
    x.state(1) = exp_avg_sq;
  }
};

struct Adam {
  using Args = AdamArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    Moments<T> m(a, x);
    if (a.amsgrad) x.state(2) = m.exp_avg_sq = larger(x.state(2), m.exp_avg_sq);
    const T denominator = sqrt(m.exp_avg_sq) / x.scale(1) + T(a.eps);
    x.param() = m.param + -x.scale(0) * m.exp_avg / denominator;
  }
};

struct Nadam {
  using Args = AdamArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const Moments<T> m(a, x);
    const T denominator = sqrt(m.exp_avg_sq / x.scale(2)) + T(a.eps);
    const T moved = m.param + x.scale(0) * m.grad / denominator;
    x.param() = moved + x.scale(1) * m.exp_avg / denominator;
  }
};

struct Radam {
  using Args = AdamArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T correction = x.scale(0), root = x.scale(1), rectifier = x.scale(2);
    const Moments<T> m(a, x);
    T step = m.exp_avg / correction * T(a.lr);
    if (rectifier != 0) step = step * (root / (sqrt(m.exp_avg_sq) + T(a.eps))) * rectifier;
    x.param() = m.param - step;
  }
};

struct Adamax {
  using Args = AdamaxArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T param = x.param(), grad = descent(a.maximize, a.weight_decay, param, x.grad());
    const T exp_avg = average(x.state(0), grad, T(1 - a.beta1));
    const T exp_inf = larger(x.state(1) * T(a.beta2), abs(grad) + T(a.eps));
    x.state(0) = exp_avg;
    x.state(1) = exp_inf;
    x.param() = param + -x.scale(0) * exp_avg / exp_inf;
  }
};

struct Rmsprop {
  using Args = RmspropArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T minus_lr = -T(a.lr);
    const T param = x.param(), grad = descent(a.maximize, a.weight_decay, param, x.grad());
    const T square_avg = x.state(0) * T(a.alpha) + T(1 - a.alpha) * grad * grad;
    x.state(0) = square_avg;
    T variance = square_avg;
    if (a.centered) {
      const T grad_avg = average(x.state(2), grad, T(1 - a.alpha));
      x.state(2) = grad_avg;
      variance -= grad_avg * grad_avg;
    }
    const T denominator = sqrt(variance) + T(a.eps);
    if (a.momentum > 0) {
      const T buffer = x.state(1) * T(a.momentum) + grad / denominator;
      x.state(1) = buffer;
      x.param() = param + minus_lr * buffer;
    } else {
      x.param() = param + minus_lr * grad / denominator;
    }
  }
};

struct Adagrad {
  using Args = AdagradArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T param = x.param(), grad = descent(a.maximize, a.weight_decay, param, x.grad());
    const T sum = x.state(0) + grad * grad;
    x.state(0) = sum;
    x.param() = param + -x.scale(0) * grad / (sqrt(sum) + T(a.eps));
  }
};

struct Adadelta {
  using Args = AdadeltaArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T rho = T(a.rho), weight = T(1 - a.rho), eps = T(a.eps);
    const T param = x.param(), grad = descent(a.maximize, a.weight_decay, param, x.grad());
    const T square_avg = x.state(0) * rho + weight * grad * grad, acc_delta = x.state(1);
    const T delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad;
    x.state(0) = square_avg;
    x.state(1) = acc_delta * rho + weight * delta * delta;
    x.param() = param + -T(a.lr) * delta;
  }
};

struct Rprop {
  using Args = RpropArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    T grad = a.maximize ? -x.grad() : x.grad();
    const T agreement = grad * x.state(0);
    const T factor = agreement > 0 ? T(a.eta_plus) : agreement < 0 ? T(a.eta_minus) : T(1);
    const T size = clamped(x.state(1) * factor, T(a.smallest), T(a.largest));
    if (agreement < 0) grad = 0;  // after a change of sign it waits a step
    x.state(0) = grad;
    x.state(1) = size;
    const T sign = grad > 0 ? T(1) : grad < 0 ? T(-1) : T(0);
    x.param() -= sign * size;
  }
};

struct Asgd {
  using Args = AsgdArgs;
  template <class T>
  __device__ static void step(const Args& a, const Element<T>& x) {
    const T before = x.param(), grad = descent(a.maximize, a.weight_decay, before, x.grad());
    const T param = before * x.scale(0) + -x.scale(1) * grad;
    const T old = x.state(0);
    x.param() = param;
    x.state(0) = x.chunk.scale[2] != 1 ? old + (param - old) * x.scale(2) : param;
  }
};

}  // namespace

const OptimTable optim_table = {
    steps<Sgd>(),    steps<Adam>(),    steps<Nadam>(),   steps<Radam>(),
    steps<Adamax>(), steps<Rmsprop>(), steps<Adagrad>(), steps<Adadelta>(),
    steps<Rprop>(),  steps<Asgd>(),    &foreach_table,
};

}  // namespace tt::cuda
