#include "core/api/nn/recurrent.h"

#include <deque>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/api/matmul.h"
#include "core/api/reduce.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/devices/threads.h"
#include "core/tables/matmul.h"
#include "core/tables/recurrent.h"

namespace tt {

namespace {

constexpr int64_t kGates[kRecurrents] = {1, 1, 4, 3};

// What forward and backward are both given, as recurrent.h says.
struct Input {
  int64_t kind;
  const NDArray& x;
  const std::vector<int64_t>& sizes;
  const NDArray& h0;
  const NDArray* c0;
  const NDArray &w_ih, &w_hh;
  bool reverse;
};

struct Layer {
  Recurrent kind;
  DType dtype;
  int64_t rows, inputs, hidden, gates, batch;
  bool reverse, halves;  // halves: products are of bfloat16
  const Device* device;
  std::vector<int64_t> sizes, starts;  // of the steps: rows, and rows before them

  int64_t steps() const { return static_cast<int64_t>(sizes.size()); }
  bool is_even() const { return steps() > 0 && rows == steps() * batch; }  // all have all sequences
  // The i-th step to be taken, and the rows whose sequence the step before it saw, too.
  int64_t step(int64_t i) const { return reverse ? steps() - 1 - i : i; }
  int64_t joint(int64_t i) const {
    return i == 0 ? 0 : std::min(sizes[step(i)], sizes[step(i - 1)]);
  }
  NDArray empty(const Dims& shape) const { return NDArray::empty(shape, dtype, *device); }
  // In RecurrentTable.
  int column() const { return halves ? 2 : dtype == DType::Float64; }
};

void check_shape(const char* name, const NDArray* array, const Dims& shape, DType dtype) {
  if (!array) return;
  if (array->dtype() != dtype)
    throw RuntimeError("[recurrent] expected ", name, " of ", dtype, ", got ", array->dtype());
  if (array->shape() != shape)
    throw RuntimeError("[recurrent] expected ", name, " of shape ", shape, ", got ",
                       array->shape());
}

Layer make_layer(const Input& in, bool halves) {
  const NDArray &x = in.x, &h0 = in.h0;
  if (in.kind < 0 || in.kind >= kRecurrents) throw ValueError("[recurrent] no kind ", in.kind);
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    throw NotImplementedError("[recurrent] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  if (x.ndim() != 2 || h0.ndim() != 2)
    throw RuntimeError("[recurrent] expected x and h0 of 2 dims, got ", x.shape(), " and ",
                       h0.shape());
  Layer l;
  l.kind = static_cast<Recurrent>(in.kind);
  l.dtype = x.dtype();
  l.rows = x.shape()[0];
  l.inputs = x.shape()[1];
  l.hidden = h0.shape()[1];
  l.gates = kGates[in.kind];
  l.batch = h0.shape()[0];
  l.reverse = in.reverse;
  l.halves = halves;
  l.device = &x.device();
  int64_t start = 0;
  l.sizes = in.sizes;
  for (int64_t t = 0; t < l.steps(); ++t) {
    const int64_t size = l.sizes[t];
    if (size < 0 || size > (t == 0 ? l.batch : l.sizes[t - 1]))
      throw RuntimeError("[recurrent] sizes must not grow, nor exceed the batch of ", l.batch);
    l.starts.push_back(start);
    start += size;
  }
  if (start != l.rows)
    throw RuntimeError("[recurrent] sizes add up to ", start, ", x has ", l.rows, " rows");
  check_shape("h0", &h0, {l.batch, l.hidden}, l.dtype);
  check_shape("c0", in.c0, {l.batch, l.hidden}, l.dtype);
  check_shape("w_ih", &in.w_ih, {l.gates * l.hidden, l.inputs}, l.dtype);
  check_shape("w_hh", &in.w_hh, {l.gates * l.hidden, l.hidden}, l.dtype);
  if ((in.c0 != nullptr) != (l.kind == Recurrent::Lstm))
    throw RuntimeError("[recurrent] an LSTM has c0, the others have not");
  return l;
}

// Where row `row` of a contiguous matrix begins; null for no matrix.
char* row_of(const NDArray* array, int64_t row) {
  if (!array) return nullptr;
  return array->data() + row * array->shape()[1] * static_cast<int64_t>(itemsize(array->dtype()));
}

// Steps for which packing the weights pays, if they have several rows.
constexpr int64_t kWorthPacking = 4;

// Products with a weight, (k, groups * hidden), that a kernel takes steps between.
RecurrentSequence make_sequence(const Layer& l, const NDArray& weight, const RecurrentPhase* phases,
                                size_t count, bool accumulate, const NDArray* bias) {
  RecurrentSequence all{};
  all.phases = phases;
  all.count = static_cast<int64_t>(count);
  all.weight = weight.data();
  all.k = weight.shape()[0];
  all.hidden = l.hidden;
  all.groups = weight.shape()[1] / std::max<int64_t>(l.hidden, 1);
  all.weight_row = weight.strides()[0];
  all.weight_col = weight.strides()[1];
  all.accumulate = accumulate;
  all.bias = data_of(bias);
  return all;
}

// Takes all steps: in one call that also makes the products, or where they are few in one call per
// phase, after products that read the weights, (k, groups * hidden), where they lie.
void run(const Layer& l, const RecurrentKernel* kernels, const NDArray& weight,
         const std::vector<RecurrentPhase>& phases, bool accumulate, const NDArray* bias) {
  const int64_t k = weight.shape()[0], n = weight.shape()[1];
  RecurrentSequence all = make_sequence(l, weight, phases.data(), phases.size(), accumulate, bias);
  const WithoutGil unlocked(l.rows * l.gates * l.hidden > kGilGrain / 8);
  if (l.steps() >= kWorthPacking && l.rows >= 2 * l.steps())
    return Launch(*l.device)(kernels[l.column()], all);
  all.weight = nullptr;
  const MatmulKernel multiply = l.device->backend->matmul->product[static_cast<int>(l.dtype)];
  all.count = 1;
  for (const RecurrentPhase& phase : phases) {
    check_interrupt();
    for (const RecurrentProduct& p : phase.products) {
      if (p.rows == 0 || n == 0) continue;
      Launch (*l.device)(
          multiply,
          MatmulArgs{
              p.rows,         n, k, p.a, weight.data(), p.c,     k,       1,       all.weight_row,
              all.weight_col, n, 1, 0,   nullptr,       nullptr, nullptr, nullptr, accumulate,
              all.bias,       1});
    }
    all.phases = &phase;
    Launch (*l.device)(kernels[l.dtype == DType::Float64], all);
  }
}

// What each row's sequence had in `steps` (rows, hidden) one step before; `first` before all. Steps
// whose rows follow each other in both are one copy: where all have as many, there is but one.
NDArray step_before(const Layer& l, const NDArray& first, const NDArray& steps) {
  NDArray before = l.empty({l.rows, l.hidden});
  const auto copy = [&](int64_t to, const NDArray& source, int64_t from, int64_t rows) {
    if (rows == 0) return;
    const size_t bytes = rows * l.hidden * itemsize(l.dtype);
    Launch (*l.device)(l.device->copy, row_of(&before, to), row_of(&source, from), bytes);
  };
  int64_t to = 0, from = 0, rows = 0;  // what has been found, and is to be copied
  for (int64_t t = 0; t < l.steps(); ++t) {
    const int64_t last = l.reverse ? t + 1 : t - 1, start = l.starts[t];
    const bool is_first = last < 0 || last == l.steps();
    const int64_t joint = is_first ? 0 : std::min(l.sizes[t], l.sizes[last]);
    copy(start + joint, first, joint, l.sizes[t] - joint);
    if (joint == 0) continue;
    if (to + rows != start || from + rows != l.starts[last]) {
      copy(to, steps, from, rows);
      to = start, from = l.starts[last], rows = 0;
    }
    rows += joint;
  }
  copy(to, steps, from, rows);
  return before;
}

// A contiguous copy, or zeros.
NDArray own(const NDArray* x, const Layer& l) {
  const Dims shape = {l.batch, l.hidden};
  if (!x) return full(shape, Scalar::of_int(0), l.dtype, *l.device);
  NDArray copy = l.empty(shape);
  copy_into(copy, x);
  return copy;
}

NDArray transposed(const NDArray& x) { return x.transpose(0, 1); }

// What products of a layer read, and of these what the layer goes on with.
NDArray operand(const Layer& l, const NDArray& x) {
  return l.halves ? astype(x, DType::BFloat16) : x;
}
NDArray product(const Layer& l, const NDArray& a, const NDArray& b) {
  return converted(matmul(a, b), l.dtype);
}

// What each row's sequence had one step before: in the rows of that step and in `first` where all
// steps have all sequences, else in a copy.
class Before {
 public:
  Before(const Layer& l, const NDArray& first, const NDArray& steps)
      : l_(l), first_(contiguous(first)), steps_(steps) {
    if (!l.is_even()) copy_ = step_before(l, first_, steps);
  }

  char* of_step(int64_t t) const {
    if (copy_) return row_of(&*copy_, l_.starts[t]);
    const int64_t last = l_.reverse ? t + 1 : t - 1;
    return last < 0 || last == l_.steps() ? first_.data() : row_of(&steps_, l_.starts[last]);
  }

  // grads^T @ this: (gates hidden, hidden)
  NDArray product_with(const NDArray& grads) const {
    if (copy_ || l_.halves) {
      const NDArray before = copy_ ? *copy_ : step_before(l_, first_, steps_);
      return product(l_, transposed(grads), operand(l_, before));
    }
    const int64_t batch = l_.batch, rest = l_.rows - batch, begin = l_.reverse ? 0 : batch;
    const auto rows = [](const NDArray& x, int64_t from, int64_t count) {
      return x.slice(0, from, from + count, 1);
    };
    const NDArray of_steps =
        matmul(transposed(rows(grads, begin, rest)), rows(steps_, batch - begin, rest));
    const NDArray of_first = transposed(rows(grads, l_.reverse ? rest : 0, batch));
    return matmul(of_first, first_, nullptr, nullptr, &of_steps);
  }

 private:
  const Layer& l_;
  NDArray first_, steps_;
  std::optional<NDArray> copy_;
};

// x @ w_ih^T + bias: a phase of its own, for that sums of halves are not rounded to halves.
NDArray input_product(const Layer& l, const RecurrentKernel* kernels, const NDArray& x,
                      const NDArray& w_ih, const NDArray* bias) {
  if (!l.halves) return matmul(x, transposed(w_ih), bias);
  const NDArray rows = contiguous(x), weight = transposed(w_ih);
  const NDArray gates = l.empty({l.rows, l.gates * l.hidden});
  const std::optional<NDArray> dense = prepared(bias, l.dtype);
  RecurrentPhase phase{};
  phase.products[0] = {l.rows, rows.data(), gates.data()};
  const RecurrentSequence one =
      make_sequence(l, weight, &phase, 1, false, dense ? &*dense : nullptr);
  const WithoutGil unlocked(l.rows * l.gates * l.hidden > kGilGrain / 8);
  Launch (*l.device)(kernels[l.column()], one);
  return gates;
}

std::vector<NDArray> forward(const Input& in, const NDArray* b_ih, const NDArray* b_hh,
                             bool halves) {
  const Layer l = make_layer(in, halves);
  const RecurrentKernel* const kernels = l.device->backend->recurrent->forward[in.kind];
  check_shape("b_ih", b_ih, {l.gates * l.hidden}, l.dtype);
  check_shape("b_hh", b_hh, {l.gates * l.hidden}, l.dtype);
  const bool lstm = l.kind == Recurrent::Lstm, gru = l.kind == Recurrent::Gru;
  // Only GRU tells the two biases apart.
  const std::optional<NDArray> both =
      b_ih && b_hh && !gru ? std::optional(binary(Binary::add, b_ih, b_hh)) : std::nullopt;
  NDArray gates = input_product(l, kernels, in.x, in.w_ih,
                                both   ? &*both
                                : b_ih ? b_ih
                                : gru  ? nullptr
                                       : b_hh);
  NDArray y = l.empty({l.rows, l.hidden});
  NDArray h = own(&in.h0, l);
  std::optional<NDArray> c, cells, candidates, recurrent;
  if (lstm) {
    c = own(in.c0, l);
    cells = l.empty({l.rows, l.hidden});
  }
  if (gru) {
    recurrent = l.empty({l.batch, 3 * l.hidden});
    candidates = l.empty({l.rows, l.hidden});
  }
  const NDArray first = contiguous(in.h0);
  const std::optional<NDArray> bias = prepared(gru ? b_hh : nullptr, l.dtype);
  std::vector<RecurrentPhase> phases(l.steps());
  for (int64_t i = 0; i < l.steps(); ++i) {
    const int64_t t = l.step(i), start = l.starts[t], n = l.sizes[t], joint = l.joint(i);
    // The state that products read is the output of the step before, of new sequences the first.
    const auto product = [&](int64_t row, int64_t rows, const char* before) {
      return RecurrentProduct{rows, before,
                              row_of(gru ? &*recurrent : &gates, gru ? row : start + row)};
    };
    if (joint) phases[i].products[0] = product(0, joint, row_of(&y, l.starts[l.step(i - 1)]));
    phases[i].products[1] = product(joint, n - joint, row_of(&first, joint));
    RecurrentStep& step = phases[i].step;
    step.rows = n;
    step.hidden = l.hidden;
    step.gates = row_of(&gates, start);
    step.recurrent = data_of(recurrent);
    step.candidate = gru ? row_of(&*candidates, start) : nullptr;
    step.state = h.data();
    step.cell = data_of(c);
    step.cells = lstm ? row_of(&*cells, start) : nullptr;
    step.output = row_of(&y, start);
  }
  run(l, kernels, transposed(in.w_hh), phases, !gru, bias ? &*bias : nullptr);
  std::vector<NDArray> results{y, h};
  if (lstm) results.push_back(*c);
  if (lstm || gru) {
    results.push_back(gates);
    results.push_back(lstm ? *cells : *candidates);
  }
  return results;
}

std::vector<NDArray> backward(const Input& in, const std::vector<bool>& needs,
                              const NDArray* active, bool overwrite,
                              const std::vector<const NDArray*>& kept,
                              const std::vector<const NDArray*>& grads, bool halves) {
  const Layer l = make_layer(in, halves);
  const bool lstm = l.kind == Recurrent::Lstm, gru = l.kind == Recurrent::Gru;
  const bool gated = lstm || gru;
  if (needs.size() != 4) throw RuntimeError("[recurrent] expected 4 needs, got ", needs.size());
  if (kept.size() != size_t(1 + gated) || (active != nullptr) != gated ||
      grads.size() != size_t(2 + lstm))
    throw RuntimeError("[recurrent] expected ", 1 + gated, " saved arrays beside the gates, and ",
                       2 + lstm, " gradients, got ", kept.size(), " and ", grads.size());
  for (const NDArray* array : {kept.front(), kept.back(), gated ? active : kept.front()})
    if (!array || !array->is_contiguous() || array->shape()[0] != l.rows)
      throw RuntimeError("[recurrent] what was saved must be as forward made it");
  check_shape("gates", active, {l.rows, l.gates * l.hidden}, l.dtype);
  for (const NDArray* array : kept) check_shape("y or cells", array, {l.rows, l.hidden}, l.dtype);
  check_shape("the gradient of y", grads[0], {l.rows, l.hidden}, l.dtype);
  for (size_t k = 1; k < grads.size(); ++k)
    check_shape("the gradient of the last state", grads[k], {l.batch, l.hidden}, l.dtype);

  const Before h_before(l, in.h0, *kept[0]);
  std::optional<Before> c_before;
  if (lstm) c_before.emplace(l, *in.c0, *kept[1]);
  const std::optional<NDArray> grad_y = prepared(grads[0], l.dtype);
  // Over what was saved, where that is given up: a step reads its gates before it writes them.
  const NDArray gates = gated && overwrite ? *active : l.empty({l.rows, l.gates * l.hidden});
  NDArray h = own(grads[1], l);
  std::optional<NDArray> c, recurrent;
  if (lstm) c = own(grads[2], l);
  if (gru) recurrent = l.empty(gates.shape());
  const NDArray& shared = gru ? *recurrent : gates;  // the gradient of the state's share
  std::vector<RecurrentPhase> phases(l.steps() + 1);
  for (int64_t i = 0; i < l.steps(); ++i) {
    RecurrentPhase *phase = &phases[l.steps() - 1 - i], *next = phase + 1;
    const int64_t t = l.step(i), start = l.starts[t];
    RecurrentStep& step = phase->step;
    step.rows = l.sizes[t];
    step.hidden = l.hidden;
    step.gates = row_of(&gates, start);
    step.activations = row_of(active, start);
    step.recurrent = gru ? row_of(&*recurrent, start) : nullptr;
    step.candidate = gru ? row_of(kept[1], start) : nullptr;
    step.state = h.data();
    step.cell = data_of(c);
    step.cells = lstm ? row_of(kept[1], start) : nullptr;
    step.before = lstm ? c_before->of_step(t) : gru ? h_before.of_step(t) : row_of(kept[0], start);
    step.output = grad_y ? row_of(&*grad_y, start) : nullptr;
    next->products[0] = {step.rows, row_of(&shared, start), h.data()};
  }
  run(l, l.device->backend->recurrent->backward[in.kind], in.w_hh, phases, gru, nullptr);
  const NDArray of_gates = operand(l, gates), of_shared = gru ? operand(l, shared) : of_gates;
  std::vector<NDArray> results{h};
  if (lstm) results.push_back(*c);
  if (needs[0]) results.push_back(product(l, of_gates, operand(l, in.w_ih)));
  if (needs[1]) results.push_back(product(l, transposed(of_gates), operand(l, in.x)));
  if (needs[2]) results.push_back(h_before.product_with(of_shared));
  if (needs[3]) {
    results.push_back(reduce(Reduce::sum, gates, Dims{0}, false));
    results.push_back(gru ? reduce(Reduce::sum, shared, Dims{0}, false) : results.back());
  }
  return results;
}

// Halves are computed in float32; but products in bfloat16, where the device has them.
bool has_products(const Input& in) {
  return in.x.dtype() == DType::BFloat16 && in.kind >= 0 && in.kind < kRecurrents &&
         backend_of(in.x).recurrent->forward[in.kind][2] != nullptr;
}

// Float32 copies of arrays of one dtype, as long as this lives.
class Widened {
 public:
  explicit Widened(DType dtype) : dtype_(dtype) {}

  const NDArray* operator()(const NDArray* x) {
    if (!x) return nullptr;
    if (x->dtype() != dtype_)
      throw RuntimeError("[recurrent] expected arrays of ", dtype_, ", got ", x->dtype());
    return &copies_.emplace_back(astype(*x, DType::Float32));
  }
  const NDArray& operator()(const NDArray& x) { return *(*this)(&x); }
  Input operator()(const Input& in) {
    Widened& wide = *this;
    return {in.kind,     wide(in.x),    in.sizes,      wide(in.h0),
            wide(in.c0), wide(in.w_ih), wide(in.w_hh), in.reverse};
  }

 private:
  DType dtype_;
  std::deque<NDArray> copies_;
};

}  // namespace

std::vector<NDArray> recurrent_forward(int64_t kind, const NDArray& x,
                                       const std::vector<int64_t>& sizes, const NDArray& h0,
                                       const NDArray* c0, const NDArray& w_ih, const NDArray& w_hh,
                                       const NDArray* b_ih, const NDArray* b_hh, bool reverse) {
  const Input in{kind, x, sizes, h0, c0, w_ih, w_hh, reverse};
  if (!is_half(x.dtype())) return forward(in, b_ih, b_hh, false);
  Widened wide(x.dtype());
  std::vector<NDArray> results = forward(wide(in), wide(b_ih), wide(b_hh), has_products(in));
  for (int i = 0; i < (c0 ? 3 : 2); ++i) results[i] = astype(results[i], x.dtype());
  return results;
}

std::vector<NDArray> recurrent_backward(int64_t kind, const NDArray& x,
                                        const std::vector<int64_t>& sizes, const NDArray& h0,
                                        const NDArray* c0, const NDArray& w_ih, const NDArray& w_hh,
                                        const std::vector<bool>& needs, bool reverse,
                                        const NDArray* active, bool overwrite,
                                        const std::vector<const NDArray*>& kept,
                                        const std::vector<const NDArray*>& grads) {
  const Input in{kind, x, sizes, h0, c0, w_ih, w_hh, reverse};
  if (!is_half(x.dtype())) return backward(in, needs, active, overwrite, kept, grads, false);
  Widened wide(x.dtype());
  std::vector<const NDArray*> wide_kept = kept, wide_grads;  // of what was saved, y was made halves
  if (!kept.empty()) wide_kept[0] = wide(kept[0]);
  for (const NDArray* grad : grads) wide_grads.push_back(wide(grad));
  std::vector<NDArray> results =
      backward(wide(in), needs, active, overwrite, wide_kept, wide_grads, has_products(in));
  for (NDArray& result : results) result = astype(result, x.dtype());
  return results;
}

}  // namespace tt
