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
#include "bindings/pybind.h"
#include "core/api/cast.h"
#include "core/devices/launch.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

using List = const pb::list&;            // of arrays
using Positions = std::vector<int64_t>;  // of the parameters that are left alone
using Arrays = std::vector<const NDArray*>;

Arrays arrays_of(List list) {
  Arrays arrays;
  for (const pb::handle item : list) arrays.push_back(&array_arg(item));
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
  Scalar::of_double(number).write(x.dtype(), x.data());
  x.mark_written();
  return value(x);
}

// A list of arrays, one per parameter; that of a state whose option is off may be empty.
struct Kept {
  List list;
  const char* what;
  bool needed = true;
};

struct Call {
  Arrays params, grads;
  Arrays states[3];   // laid out as the parameters
  Arrays numbers[3];  // the counts of steps, and what other numbers are kept per parameter
  std::vector<Chunk> chunks[2];  // float32, float64
  Positions taken, left;

  explicit Call(List param_list) : params(arrays_of(param_list)) { sort(); }
  Call(List param_list, List grad_list, std::initializer_list<Kept> state_lists = {},
       std::initializer_list<Kept> number_lists = {})
      : params(arrays_of(param_list)), grads(arrays_in({grad_list, "grads"})) {
    auto arrays = [this](const Kept& kept) { return arrays_in(kept); };
    std::transform(state_lists.begin(), state_lists.end(), states, arrays);
    std::transform(number_lists.begin(), number_lists.end(), numbers, arrays);
    sort();
  }

  Arrays arrays_in(const Kept& kept) const {
    if (kept.list.size() != params.size() && (kept.needed || !kept.list.empty()))
      throw ValueError("[foreach] expected ", params.size(), " arrays in ", kept.what, ", got ",
                       kept.list.size());
    return arrays_of(kept.list);
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
    for (const Arrays& list : numbers)
      if (!list.empty() && !is_number(*list[i])) return false;
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
      for (const Arrays& list : numbers)
        if (!list.empty()) add(*list[i], true);
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
      const NDArray& step = *numbers[0][i];
      use(chunks[kind][next[kind]++], i, set(step, value(step) + 1));
    }
  }

  // Args are those of the step, so that they can be written without their type.
  template <class Args>
  Positions run(const Steps<Args>& step, const std::common_type_t<Args>& args) {
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

Positions foreach_sgd(List params, List grads, List buffers, double lr, double momentum,
                      double dampening, double weight_decay, bool nesterov, bool maximize) {
  Call call(params, grads, {{buffers, "momentum_buffers", momentum != 0}});
  return call.run(call.table().sgd, {lr, momentum, dampening, weight_decay, nesterov, maximize});
}

// After t steps the running averages, which began at 0, are too small by the factor 1 - beta^t.
double correction(double beta, double step) { return 1 - std::pow(beta, step); }

// Python's `x ** 0.5`, to the bit.
double root(double x) { return std::pow(x, 0.5); }

Positions foreach_adam(List params, List grads, List averages, List squares, List largest,
                       List steps, double lr, double beta1, double beta2, double eps,
                       double weight_decay, bool decoupled, bool maximize) {
  Call call(params, grads,
            {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}, {largest, "max_exp_avg_sqs", false}},
            {{steps, "steps"}});
  call.advance([&](Chunk& chunk, int64_t, double step) {
    chunk.scale[0] = lr / correction(beta1, step);
    chunk.scale[1] = root(correction(beta2, step));
  });
  return call.run(call.table().adam,
                  {lr, beta1, beta2, eps, weight_decay, !largest.empty(), decoupled, maximize});
}

Positions foreach_nadam(List params, List grads, List averages, List squares, List mu_products,
                        List steps, double lr, double beta1, double beta2, double eps,
                        double weight_decay, double momentum_decay, bool decoupled, bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}},
            {{steps, "steps"}, {mu_products, "mu_products"}});
  auto momentum = [&](double step) {
    return beta1 * (1.0 - 0.5 * std::pow(0.96, step * momentum_decay));
  };
  call.advance([&](Chunk& chunk, int64_t i, double step) {
    const NDArray& held = *call.numbers[1][i];
    const double mu = momentum(step), mu_next = momentum(step + 1);
    const bool wide = held.dtype() == DType::Float64;
    const double product = set(held, value(held) * (wide ? mu : static_cast<float>(mu)));
    chunk.scale[0] = -lr * (1.0 - mu) / (1.0 - product);
    chunk.scale[1] = -lr * mu_next / (1.0 - product * mu_next);
    chunk.scale[2] = correction(beta2, step);
  });
  return call.run(call.table().nadam,
                  {lr, beta1, beta2, eps, weight_decay, false, decoupled, maximize});
}

Positions foreach_radam(List params, List grads, List averages, List squares, List steps, double lr,
                        double beta1, double beta2, double eps, double weight_decay, bool decoupled,
                        bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {squares, "exp_avg_sqs"}}, {{steps, "steps"}});
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
                  {lr, beta1, beta2, eps, weight_decay, false, decoupled, maximize});
}

Positions foreach_adamax(List params, List grads, List averages, List norms, List steps, double lr,
                         double beta1, double beta2, double eps, double weight_decay,
                         bool maximize) {
  Call call(params, grads, {{averages, "exp_avgs"}, {norms, "exp_infs"}}, {{steps, "steps"}});
  call.advance(
      [&](Chunk& chunk, int64_t, double step) { chunk.scale[0] = lr / correction(beta1, step); });
  return call.run(call.table().adamax, {beta1, beta2, eps, weight_decay, maximize});
}

Positions foreach_rmsprop(List params, List grads, List squares, List buffers, List averages,
                          List steps, double lr, double alpha, double eps, double weight_decay,
                          double momentum, bool maximize) {
  Call call(params, grads,
            {{squares, "square_avgs"},
             {buffers, "momentum_buffers", momentum > 0},
             {averages, "grad_avgs", false}},
            {{steps, "steps"}});
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().rmsprop,
                  {lr, alpha, eps, weight_decay, momentum, !averages.empty(), maximize});
}

Positions foreach_adagrad(List params, List grads, List sums, List steps, double lr,
                          double lr_decay, double eps, double weight_decay, bool maximize) {
  Call call(params, grads, {{sums, "sums"}}, {{steps, "steps"}});
  call.advance([&](Chunk& chunk, int64_t, double step) {
    chunk.scale[0] = lr / (1 + (step - 1) * lr_decay);
  });
  return call.run(call.table().adagrad, {eps, weight_decay, maximize});
}

Positions foreach_adadelta(List params, List grads, List squares, List deltas, List steps,
                           double lr, double rho, double eps, double weight_decay, bool maximize) {
  Call call(params, grads, {{squares, "square_avgs"}, {deltas, "acc_deltas"}}, {{steps, "steps"}});
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().adadelta, {lr, rho, eps, weight_decay, maximize});
}

Positions foreach_rprop(List params, List grads, List previous, List sizes, List steps,
                        double eta_minus, double eta_plus, double smallest, double largest,
                        bool maximize) {
  Call call(params, grads, {{previous, "prevs"}, {sizes, "step_sizes"}}, {{steps, "steps"}});
  call.advance([](Chunk&, int64_t, double) {});
  return call.run(call.table().rprop, {eta_minus, eta_plus, smallest, largest, maximize});
}

Positions foreach_asgd(List params, List grads, List averages, List etas, List mus, List steps,
                       double lr, double lambd, double alpha, double t0, double weight_decay,
                       bool maximize) {
  Call call(params, grads, {{averages, "axs"}}, {{steps, "steps"}, {etas, "etas"}, {mus, "mus"}});
  call.advance([&](Chunk& chunk, int64_t i, double step) {
    const NDArray &eta = *call.numbers[1][i], &mu = *call.numbers[2][i];
    chunk.scale[0] = 1 - lambd * value(eta);
    chunk.scale[1] = value(eta);
    chunk.scale[2] = value(mu);
    set(eta, lr / std::pow(1 + lambd * lr * step, alpha));
    set(mu, 1 / std::max(1.0, step - t0));
  });
  return call.run(call.table().asgd, {weight_decay, maximize});
}

// Times a number that the arrays' device has. `found`, float32 or none, becomes 1 where an element
// is inf or NaN.
Positions foreach_scale(List arrays, pb::handle factor, pb::handle found) {
  const NDArray& by = array_arg(factor);
  const NDArray* const flag = found.is_none() ? nullptr : &array_arg(found);
  if (by.numel() != 1 || !is_single_or_double(by.dtype()) ||
      (flag && (flag->numel() != 1 || flag->dtype() != DType::Float32)))
    throw TypeError("[foreach_scale] expected numbers in float32 or float64");
  Call call(arrays);
  for (const NDArray* number : {&by, flag})
    if (number && !call.params.empty() && &number->device() != &call.device())
      throw_mixed(call.device(), number->device());
  ScaleArgs args{1, by.data(), by.dtype() == DType::Float32, data_of<float>(flag)};
  if (by.device().on_host) args = {value(by), nullptr, true, args.found};
  if (flag) flag->mark_written();
  return call.run(call.table().foreach->scale, args);
}

Positions foreach_clamp(List arrays, double low, double high) {
  Call call(arrays);
  return call.run(call.table().foreach->clamp, {low, high});
}

Positions foreach_lerp(List arrays, List ends, double weight) {
  Call call(arrays, ends);
  return call.run(call.table().foreach->lerp, {weight});
}

// The norm of each array, of order 1, 2 or infinity, side by side on their device. The arrays are
// all float32, or all float64.
pb::object foreach_norm(List list, double order) {
  const Arrays arrays = arrays_of(list);
  const Device& device = arrays.empty() ? cpu_device() : arrays[0]->device();
  const DType dtype = arrays.empty() ? DType::Float32 : arrays[0]->dtype();
  const bool two = order == 2, one = order == 1;
  if (!two && !one && order != INFINITY)
    throw NotImplementedError("[foreach_norm] the order must be 1, 2 or inf, not ", order);
  std::vector<NDArray> copies;  // of those whose elements do not lie side by side
  copies.reserve(arrays.size());
  std::vector<NormBlock> blocks;
  std::vector<int64_t> ends;
  for (const NDArray* x : arrays) {
    if (&x->device() != &device) throw_mixed(device, x->device());
    if (!is_single_or_double(x->dtype()) || x->dtype() != dtype)
      throw TypeError("[foreach_norm] expected float32 or float64 arrays, got ", name(x->dtype()));
    if (!x->is_dense()) x = &copies.emplace_back(contiguous(*x));
    for (int64_t i = 0; i < x->numel(); i += kNormBlock)
      blocks.push_back({x->data() + i * itemsize(dtype), std::min(kNormBlock, x->numel() - i)});
    ends.push_back(blocks.size());
  }
  const auto count = static_cast<int64_t>(arrays.size());
  NDArray norms = NDArray::empty({count}, dtype, device);
  const auto power = two ? NormPower::Two : one ? NormPower::One : NormPower::Infinity;
  {
    const pb::gil_scoped_release released;
    Launch{device}(
        device.backend->optim->foreach->norms,
        NormsArgs{blocks.data(), ends.data(), count, power, dtype == DType::Float32, norms.data()});
  }
  return wrap(std::move(norms));
}

}  // namespace

void add_optim(PyObject* object) {
  pybind11::module_ module = module_from(object);
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
