// The foreach optimisers: lists of arrays, checked, into one kernel call per dtype.
//
// Each function answers the positions of the parameters that it left alone, because their arrays
// differ in layout or are not float32 or float64, and all of them if what is written shares memory
// with anything else, since then their order counts: the caller's loop takes those.
#include "cpu/optim.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bindings/bind.h"
#include "bindings/types.h"

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
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int d = 0; d < a.ndim(); ++d)
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

bool is_single_or_double(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

struct Call {
  Arrays params, grads, states[3], steps;
  std::vector<cpu::Chunk> chunks[2];  // float32, float64
  std::vector<int64_t> taken, left;

  Call(const pb::list& param_list, const pb::list& grad_list) {
    params = arrays_of(param_list, param_list.size(), false, "params");
    grads = arrays_of(grad_list, params.size(), false, "grads");
  }
  // A state whose option is off is an empty list.
  void state(int slot, const pb::list& list, const char* what, bool needed) {
    states[slot] = arrays_of(list, params.size(), !needed, what);
  }

  bool can_take(size_t i) const {
    const NDArray& param = *params[i];
    if (!is_single_or_double(param.dtype()) || !param.is_dense() || !same_layout(param, *grads[i]))
      return false;
    for (const Arrays& list : states)
      if (!list.empty() && !same_layout(param, *list[i])) return false;
    return steps.empty() || (is_single_or_double(steps[i]->dtype()) && steps[i]->numel() == 1);
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
      add(*grads[i], false);
      for (const Arrays& list : states)
        if (!list.empty()) add(*list[i], true);
      if (!steps.empty()) add(*steps[i], true);
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
      cpu::Chunk chunk{};
      chunk.param = params[i]->data();
      chunk.grad = grads[i]->data();
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

  // Counts a step of every taken parameter and answers the count to `use(chunk, step)`.
  template <class Use>
  void advance(Use&& use) {
    size_t next[2] = {0, 0};
    for (int64_t i : taken) {
      const NDArray& step = *steps[i];
      double count;
      if (step.dtype() == DType::Float64)
        count = *reinterpret_cast<double*>(step.data()) += 1;
      else
        count = *reinterpret_cast<float*>(step.data()) += 1;
      step.mark_written();
      const int kind = params[i]->dtype() == DType::Float64;
      use(chunks[kind][next[kind]++], count);
    }
  }

  template <class Args>
  std::vector<int64_t> run(void (*f32)(const cpu::Chunk*, int64_t, const Args&),
                           void (*f64)(const cpu::Chunk*, int64_t, const Args&), const Args& args) {
    {
      const pb::gil_scoped_release released;
      f32(chunks[0].data(), chunks[0].size(), args);
      f64(chunks[1].data(), chunks[1].size(), args);
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
  Call call(params, grads);
  call.state(0, buffers, "momentum_buffers", momentum != 0);
  call.sort();
  const cpu::OptimTable& table = cpu::optim();
  return call.run(table.sgd_f32, table.sgd_f64,
                  cpu::SgdArgs{lr, momentum, dampening, weight_decay, nesterov, maximize});
}

std::vector<int64_t> foreach_adam(const pb::list& params, const pb::list& grads,
                                  const pb::list& averages, const pb::list& squares,
                                  const pb::list& largest, const pb::list& steps, double lr,
                                  double beta1, double beta2, double eps, double weight_decay,
                                  bool decoupled, bool maximize) {
  Call call(params, grads);
  call.state(0, averages, "exp_avgs", true);
  call.state(1, squares, "exp_avg_sqs", true);
  call.state(2, largest, "max_exp_avg_sqs", false);
  call.steps = arrays_of(steps, call.params.size(), false, "steps");
  call.sort();
  call.advance([&](cpu::Chunk& chunk, double step) {
    chunk.step_size = lr / (1 - std::pow(beta1, step));
    chunk.correction = std::pow(1 - std::pow(beta2, step), 0.5);  // Python's `** 0.5`, to the bit
  });
  const cpu::OptimTable& table = cpu::optim();
  return call.run(
      table.adam_f32, table.adam_f64,
      cpu::AdamArgs{lr, beta1, beta2, eps, weight_decay, !largest.empty(), decoupled, maximize});
}

std::vector<int64_t> foreach_rmsprop(const pb::list& params, const pb::list& grads,
                                     const pb::list& squares, const pb::list& buffers,
                                     const pb::list& averages, const pb::list& steps, double lr,
                                     double alpha, double eps, double weight_decay, double momentum,
                                     bool maximize) {
  Call call(params, grads);
  call.state(0, squares, "square_avgs", true);
  call.state(1, buffers, "momentum_buffers", momentum > 0);
  call.state(2, averages, "grad_avgs", false);
  call.steps = arrays_of(steps, call.params.size(), false, "steps");
  call.sort();
  call.advance([](cpu::Chunk&, double) {});
  const cpu::OptimTable& table = cpu::optim();
  return call.run(
      table.rmsprop_f32, table.rmsprop_f64,
      cpu::RmspropArgs{lr, alpha, eps, weight_decay, momentum, !averages.empty(), maximize});
}

}  // namespace

void add_optim(pb::module_& module) {
  module.def("foreach_sgd", foreach_sgd);
  module.def("foreach_adam", foreach_adam);
  module.def("foreach_rmsprop", foreach_rmsprop);
}

}  // namespace tt::py
