// The foreach optimisers: lists of arrays, checked, into one kernel call per dtype.
//
// Each function answers the positions of the parameters that it left alone, because their arrays
// differ in layout or are not float32 or float64, and all of them if what is written shares memory
// with anything else, since then their order counts: the caller's loop takes those.
#include "core/tables/optim.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/api/cast.h"
#include "core/launch.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

using Arrays = std::vector<const NDArray*>;

Arrays arrays_of(const pb::list& list, size_t expected, bool optional, const char* what) {
  if (list.size() != expected && !(optional && list.empty()))
    throw ValueError("[foreach] expected ", expected, " arrays in ", what, ", got ", list.size());
  Arrays arrays;
  for (const pb::handle item : list) arrays.push_back(&Argument<const NDArray&>::get(item.ptr()));
  return arrays;
}

bool same_layout(const NDArray& a, const NDArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || &a.device() != &b.device()) return false;
  for (int d = 0; d < a.ndim(); ++d)
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

bool is_single_or_double(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

// As in PyTorch a parameter's numbers are on the host.
bool is_number(const NDArray& x) {
  return is_single_or_double(x.dtype()) && x.numel() == 1 && x.device().on_host;
}

double value(const NDArray& x) {
  if (x.dtype() == DType::Float64) return *reinterpret_cast<double*>(x.data());
  return *reinterpret_cast<float*>(x.data());
}

// Stores `number` rounded to the array's dtype, and answers what it has become.
double set(const NDArray& x, double number) {
  if (x.dtype() == DType::Float64)
    *reinterpret_cast<double*>(x.data()) = number;
  else
    *reinterpret_cast<float*>(x.data()) = static_cast<float>(number);
  x.mark_written();
  return value(x);
}

struct Call {
  Arrays params, grads, states[3];
  Arrays steps,
      scalars[2];  // numbers kept per parameter: its count of steps and what it has beside
  std::vector<Chunk> chunks[2];  // float32, float64
  std::vector<int64_t> taken, left;

  // A list of arrays, one per parameter; that of a state whose option is off may be empty.
  struct List {
    const pb::list& list;
    const char* what;
    bool needed = true;
  };
  Arrays arrays_in(const List& list) const {
    return arrays_of(list.list, params.size(), !list.needed, list.what);
  }

  explicit Call(const pb::list& param_list)
      : params(arrays_of(param_list, param_list.size(), false, "params")) {
    sort();
  }
  Call(const pb::list& param_list, const pb::list& grad_list,
       std::initializer_list<List> state_lists = {}, const pb::list* step_list = nullptr,
       std::initializer_list<List> scalar_lists = {})
      : params(arrays_of(param_list, param_list.size(), false, "params")),
        grads(arrays_in({grad_list, "grads"})) {
    std::transform(state_lists.begin(), state_lists.end(), states,
                   [this](const List& list) { return arrays_in(list); });
    if (step_list) steps = arrays_in({*step_list, "steps"});
    std::transform(scalar_lists.begin(), scalar_lists.end(), scalars,
                   [this](const List& list) { return arrays_in(list); });
    sort();
  }

  // That of the first parameter; those of others are left to the caller.
  const Device& device() const { return params.empty() ? cpu_device() : params[0]->device(); }
  const OptimTable& table() const { return *device().backend->optim; }

  bool can_take(size_t i) const {
    const NDArray& param = *params[i];
    if (!is_single_or_double(param.dtype()) || !param.is_dense()) return false;
    if (&param.device() != &device()) return false;
    if (!grads.empty() && !same_layout(param, *grads[i])) return false;
    for (const Arrays& list : states)
      if (!list.empty() && !same_layout(param, *list[i])) return false;
    for (const Arrays* list : {&steps, &scalars[0], &scalars[1]})
      if (!list->empty() && !is_number(*(*list)[i])) return false;
    return true;
  }

  // Whether two ranges of memory meet, of which at least one is written.
  bool overlap() const {
    struct Range {
      const char *begin, *end;
      bool written;
    };
    std::vector<Range> ranges;
    auto add = [&ranges](const NDArray& x, bool written) {
      if (x.numel() > 0)
        ranges.push_back({x.data(), x.data() + x.numel() * itemsize(x.dtype()), written});
    };
    for (int64_t i : taken) {
      add(*params[i], true);
      if (!grads.empty()) add(*grads[i], false);
      for (const Arrays& list : states)
        if (!list.empty()) add(*list[i], true);
      for (const Arrays* list : {&steps, &scalars[0], &scalars[1]})
        if (!list->empty()) add(*(*list)[i], true);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    const char *any_end = nullptr, *written_end = nullptr;
    for (const Range& range : ranges) {
      if (range.begin < (range.written ? any_end : written_end)) return true;
      any_end = std::max(any_end, range.end);
      if (range.written) written_end = std::max(written_end, range.end);
    }
    return false;
  }

  void sort() {
    for (size_t i = 0; i < params.size(); ++i) {
      if (!can_take(i)) {
        left.push_back(i);
        continue;
      }
      Chunk chunk{};
      chunk.param = params[i]->data();
      if (!grads.empty()) chunk.grad = grads[i]->data();
      for (int slot = 0; slot < 3; ++slot)
        if (!states[slot].empty()) chunk.state[slot] = states[slot][i]->data();
      chunk.numel = params[i]->numel();
      chunks[params[i]->dtype() == DType::Float64].push_back(chunk);
      taken.push_back(i);
    }
    if (!overlap()) return;
    taken.clear();
    for (auto& list : chunks) list.clear();
    left.resize(params.size());
    std::iota(left.begin(), left.end(), 0);
  }

  // Counts a step of every taken parameter i; `use(chunk, i, step)` sets the chunk's scales.
  template <class Use>
  void advance(Use&& use) {
    size_t next[2] = {0, 0};
    for (int64_t i : taken) {
      const int kind = params[i]->dtype() == DType::Float64;
      use(chunks[kind][next[kind]++], i, set(*steps[i], value(*steps[i]) + 1));
    }
  }

  template <class Args>
  std::vector<int64_t> run(const Steps<Args>& step, const Args& args) {
    {
      const pb::gil_scoped_release released;
      const Launch launch(device());
      launch(step.f32, chunks[0].data(), chunks[0].size(), args);
      launch(step.f64, chunks[1].data(), chunks[1].size(), args);
    }
    for (int64_t i : taken) {
      params[i]->mark_written();
      for (const Arrays& list : states)
        if (!list.empty()) list[i]->mark_written();
    }
    return left;
  }
};

std::vector<int64_t> foreach_sgd(const pb::list& params, const pb::list& grads,
                                 const pb::list& buffers, double lr, double momentum,
                                 double dampening, double weight_decay, bool nesterov,
                                 bool maximize) {
  Call call(params, grads, {{buffers, "momentum_buffers", momentum != 0}});
  return call.run(call.table().sgd,
                  SgdArgs{lr, momentum, dampening, weight_decay, nesterov, maximize});
}

// After t steps the running averages, which began at 0, are too small by the factor 1 - beta^t.
double correction(double beta, double step) { return 1 - std::pow(beta, step); }

// Python's `x ** 0.5`, to the bit.
double root(double x) { return std::pow(x, 0.5); }

std::vector<int64_t> foreach_adam(const pb::list& params, const pb::list& grads,
                                  const pb::list& averages, const pb::list& squares,
                                  const pb::list& largest, const pb::list& steps, double lr,
                                  double beta1, double beta2, double eps, double weight_decay,
                                  bool decoupled, bool maximize) {
  Call call(params, grads,
            {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}, {largest, "max_exp_avg_sqs", false}},
            &steps);
  call.advance([&](Chunk& chunk, int64_t, double step) {
    chunk.scale[0] = lr / correction(beta1, step);
    chunk.scale[1] = root(correction(beta2, step));
  });
  return call.run(call.table().adam, AdamArgs{lr, beta1, beta2, eps, weight_decay, !largest.empty(),
                                              decoupled, maximize});
}

std::vector<int64_t> foreach_nadam(const pb::list& params, const pb::list& grads,
                                   const pb::list& averages, const pb::list& squares,
                                   const pb::list& mu_products, const pb::list& steps, double lr,
                                   double beta1, double beta2, double eps, double weight_decay,
                                   double momentum_decay, bool decoupled, bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}}, &steps,
            {{mu_products, "mu_products"}});
  auto momentum = [&](double step) {
    return beta1 * (1.0 - 0.5 * std::pow(0.96, step * momentum_decay));
  };
  call.advance([&](Chunk& chunk, int64_t i, double step) {
    const NDArray& held = *call.scalars[0][i];
    const double mu = momentum(step), mu_next = momentum(step + 1);
    const bool wide = held.dtype() == DType::Float64;
    const double product = set(held, value(held) * (wide ? mu : static_cast<float>(mu)));
    chunk.scale[0] = -lr * (1.0 - mu) / (1.0 - product);
    chunk.scale[1] = -lr * mu_next / (1.0 - product * mu_next);
    chunk.scale[2] = correction(beta2, step);
  });
  return call.run(call.table().nadam,
                  AdamArgs{lr, beta1, beta2, eps, weight_decay, false, decoupled, maximize});
}

std::vector<int64_t> foreach_radam(const pb::list& params, const pb::list& grads,
                                   const pb::list& averages, const pb::list& squares,
                                   const pb::list& steps, double lr, double beta1, double beta2,
                                   double eps, double weight_decay, bool decoupled, bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}}, &steps);
  const double longest = 2 / (1 - beta2) - 1;
  call.advance([&](Chunk& chunk, int64_t, double step) {
    const double correction2 = correction(beta2, step);
    const double length = longest - 2 * step * std::pow(beta2, step) / correction2;
    chunk.scale[0] = correction(beta1, step);
    chunk.scale[1] = root(correction2);
    if (length > 5)
      chunk.scale[2] =
          root((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  });
  return call.run(call.table().radam,
                  AdamArgs{lr, beta1, beta2, eps, weight_decay, false, decoupled, maximize});
}

std::vector<int64_t> foreach_adamax(const pb::list& params, const pb::list& grads,
                                    const pb::list& averages, const pb::list& norms,
                                    const pb::list& steps, double lr, double beta1, double beta2,
                                    double eps, double weight_decay, bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {norms, "exp_infs"}}, &steps);
  call.advance(
      [&](Chunk& chunk, int64_t, double step) { chunk.scale[0] = lr / correction(beta1, step); });
  return call.run(call.table().adamax, AdamaxArgs{beta1, beta2, eps, weight_decay, maximize});
}

std::vector<int64_t> foreach_rmsprop(const pb::list& params, const pb::list& grads,
                                     const pb::list& squares, const pb::list& buffers,
                                     const pb::list& averages, const pb::list& steps, double lr,
                                     double alpha, double eps, double weight_decay, double momentum,
                                     bool maximize) {
  Call call(params, grads,
            {{squares, "square_avgs"},
             {buffers, "momentum_buffers", momentum > 0},
             {averages, "grad_avgs", false}},
            &steps);
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().rmsprop,
                  RmspropArgs{lr, alpha, eps, weight_decay, momentum, !averages.empty(), maximize});
}

std::vector<int64_t> foreach_adagrad(const pb::list& params, const pb::list& grads,
                                     const pb::list& sums, const pb::list& steps, double lr,
                                     double lr_decay, double eps, double weight_decay,
                                     bool maximize) {
  Call call(params, grads, {{sums, "sums"}}, &steps);
  call.advance([&](Chunk& chunk, int64_t, double step) {
    chunk.scale[0] = lr / (1 + (step - 1) * lr_decay);
  });
  return call.run(call.table().adagrad, AdagradArgs{eps, weight_decay, maximize});
}

std::vector<int64_t> foreach_adadelta(const pb::list& params, const pb::list& grads,
                                      const pb::list& squares, const pb::list& deltas,
                                      const pb::list& steps, double lr, double rho, double eps,
                                      double weight_decay, bool maximize) {
  Call call(params, grads, {{squares, "square_avgs"}, {deltas, "acc_deltas"}}, &steps);
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().adadelta, AdadeltaArgs{lr, rho, eps, weight_decay, maximize});
}

std::vector<int64_t> foreach_rprop(const pb::list& params, const pb::list& grads,
                                   const pb::list& previous, const pb::list& sizes,
                                   const pb::list& steps, double eta_minus, double eta_plus,
                                   double smallest, double largest, bool maximize) {
  Call call(params, grads, {{previous, "prevs"}, {sizes, "step_sizes"}}, &steps);
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().rprop, RpropArgs{eta_minus, eta_plus, smallest, largest, maximize});
}

std::vector<int64_t> foreach_asgd(const pb::list& params, const pb::list& grads,
                                  const pb::list& averages, const pb::list& etas,
                                  const pb::list& mus, const pb::list& steps, double lr,
                                  double lambd, double alpha, double t0, double weight_decay,
                                  bool maximize) {
  Call call(params, grads, {{averages, "axs"}}, &steps, {{etas, "etas"}, {mus, "mus"}});
  call.advance([&](Chunk& chunk, int64_t i, double step) {
    const NDArray &eta = *call.scalars[0][i], &mu = *call.scalars[1][i];
    chunk.scale[0] = 1 - lambd * value(eta);
    chunk.scale[1] = value(eta);
    chunk.scale[2] = value(mu);
    set(eta, lr / std::pow(1 + lambd * lr * step, alpha));
    set(mu, 1 / std::max(1.0, step - t0));
  });
  return call.run(call.table().asgd, AsgdArgs{weight_decay, maximize});
}

std::vector<int64_t> foreach_scale(const pb::list& arrays, double factor) {
  Call call(arrays);
  return call.run(call.table().foreach->scale, ScaleArgs{factor});
}

std::vector<int64_t> foreach_clamp(const pb::list& arrays, double low, double high) {
  Call call(arrays);
  return call.run(call.table().foreach->clamp, ClampArgs{low, high});
}

std::vector<int64_t> foreach_lerp(const pb::list& arrays, const pb::list& ends, double weight) {
  Call call(arrays, ends);
  return call.run(call.table().foreach->lerp, LerpArgs{weight});
}

// The norm of each array, of order 1, 2 or infinity. The arrays are float32 or float64.
std::vector<double> foreach_norm(const pb::list& list, double order) {
  const Arrays arrays = arrays_of(list, list.size(), false, "arrays");
  const Device& device = arrays.empty() ? cpu_device() : arrays[0]->device();
  if (!device.has_data) throw NotImplementedError("Cannot copy out of meta tensor; no data!");
  const bool two = order == 2, one = order == 1;
  if (!two && !one && order != INFINITY)
    throw NotImplementedError("[foreach_norm] the order must be 1, 2 or inf, not ", order);
  std::vector<NDArray> copies;  // of those whose elements do not lie side by side
  std::vector<NormBlock> blocks;
  std::vector<size_t> ends;
  for (const NDArray* x : arrays) {
    if (&x->device() != &device) throw_mixed(device, x->device());
    if (!is_single_or_double(x->dtype()))
      throw TypeError("[foreach_norm] expected float32 or float64 arrays, got ", name(x->dtype()));
    if (!x->is_dense()) x = &copies.emplace_back(contiguous(*x));
    for (int64_t i = 0; i < x->numel(); i += kNormBlock)
      blocks.push_back({x->data() + i * itemsize(x->dtype()), std::min(kNormBlock, x->numel() - i),
                        x->dtype() == DType::Float32});
    ends.push_back(blocks.size());
  }
  std::vector<double> sums(blocks.size()), norms;
  {
    const pb::gil_scoped_release released;
    const auto power = two ? NormPower::Two : one ? NormPower::One : NormPower::Infinity;
    Launch(device)->optim->foreach->sums(blocks.data(), blocks.size(), power, sums.data());
  }
  size_t next = 0;
  for (size_t end : ends) {
    double sum = 0;
    for (; next < end; ++next)
      sum = two || one ? sum + sums[next] : (sum >= sums[next] || sum != sum) ? sum : sums[next];
    norms.push_back(two ? std::sqrt(sum) : sum);
  }
  return norms;
}

}  // namespace

void add_optim(pb::module_& module) {
  module.def("foreach_sgd", foreach_sgd);
  module.def("foreach_adam", foreach_adam);
  module.def("foreach_nadam", foreach_nadam);
  module.def("foreach_radam", foreach_radam);
  module.def("foreach_adamax", foreach_adamax);
  module.def("foreach_rmsprop", foreach_rmsprop);
  module.def("foreach_adagrad", foreach_adagrad);
  module.def("foreach_adadelta", foreach_adadelta);
  module.def("foreach_rprop", foreach_rprop);
  module.def("foreach_asgd", foreach_asgd);
  module.def("foreach_scale", foreach_scale);
  module.def("foreach_clamp", foreach_clamp);
  module.def("foreach_lerp", foreach_lerp);
  module.def("foreach_norm", foreach_norm);
}

}  // namespace tt::py
