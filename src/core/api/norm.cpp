#include "core/api/norm.h"

#include <cmath>
#include <limits>

#include "core/api/copy.h"
#include "core/api/lines.h"
#include "core/api/result.h"
#include "core/backend.h"
#include "core/kernels/norm.h"
#include "core/type_name.h"
#include "core/walker.h"
#include "core/with_type.h"

namespace tt {

namespace {

const NormTable& kernels() { return *cpu_backend().norm; }

template <class T>
T* data_of(const NDArray& array) {
  return reinterpret_cast<T*>(array.data());
}

void check_floating(const char* name, const NDArray& x) {
  if (!is_floating(x.dtype())) throw not_implemented(name, x.dtype());
}

Dims without(const Dims& shape, int dim) {
  Dims rest = shape;
  rest.erase(dim);
  return rest;
}

// In an order that depends on n alone.
template <class T>
double sum_of(const T* x, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += static_cast<double>(x[i + k]);
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double read_number(const NDArray& x, int64_t i) {
  double value = 0;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    value = static_cast<double>(read<T>(x.data() + i * static_cast<int64_t>(sizeof(T))));
  });
  return value;
}

// A 0-d array of a number.
NDArray scalar_array(double value, DType dtype) {
  NDArray array = NDArray::empty({}, dtype);
  Scalar::of_double(value).write(dtype, array.data());
  return array;
}

// `loss`, one per line and in float32 or float64, as the caller wants it.
NDArray reduced(const NDArray& loss, Reduction reduction, double divisor, DType dtype) {
  if (reduction == Reduction::None) return converted(loss, dtype);
  const double sum = loss.dtype() == DType::Float32 ? sum_of(data_of<float>(loss), loss.numel())
                                                    : sum_of(data_of<double>(loss), loss.numel());
  return scalar_array(reduction == Reduction::Mean ? sum / divisor : sum, dtype);
}

// Throws for a class out of range; answers the sum of the weights of those that count.
double check_classes(const NDArray& target, const NDArray* weight, int64_t classes,
                     int64_t ignore_index) {
  const int64_t* places = data_of<int64_t>(target);
  int64_t counted = 0;
  for (int64_t i = 0; i < target.numel(); ++i) {
    if (places[i] == ignore_index) continue;
    if (places[i] < 0 || places[i] >= classes)
      throw IndexError("Target ", places[i], " is out of bounds.");
    ++counted;
  }
  if (!weight) return static_cast<double>(counted);
  double total = 0;
  with_type(weight->dtype(), [&](auto type) {
    const auto* weights = data_of<decltype(type)>(*weight);
    for (int64_t i = 0; i < target.numel(); ++i)
      if (places[i] != ignore_index) total += static_cast<double>(weights[places[i]]);
  });
  return total;
}

// Classes as int64 and weights per class, both contiguous.
struct Targets {
  NDArray target;
  std::optional<NDArray> weight;

  Targets(const NDArray& t, const NDArray* w, const NDArray& x, int dim, DType dtype)
      : target(contiguous(t)) {
    if (w) weight = contiguous(converted(*w, dtype));
    if (target.dtype() != DType::Int64)
      throw TypeError("[nll_loss] expected int64 classes, got ", target.dtype());
    if (target.numel() != checked_numel(without(x.shape(), dim), "nll_loss"))
      throw RuntimeError("[nll_loss] expected a target of shape ", without(x.shape(), dim),
                         ", got ", target.shape());
    check_weight(w, x.shape()[dim]);
  }
  static void check_weight(const NDArray* w, int64_t classes) {
    if (w && w->shape() != Dims{classes})
      throw RuntimeError("[nll_loss] expected a weight of shape [", classes, "], got ", w->shape());
  }
  const NDArray* weights() const { return weight ? &*weight : nullptr; }
};

constexpr int kStats = 3;  // per line; the divisor of the mean follows them

// What both directions of cross-entropy take, and the arrays that it points into.
struct CrossEntropy {
  CrossEntropyArgs args{};
  DType compute;
  NDArray target;
  std::optional<NDArray> weight;

  CrossEntropy(const NDArray& x, const NDArray& t, const NDArray* w, int dim, double smoothing)
      : compute(computed_in(x.dtype())), target(t) {
    check_floating("cross_entropy", x);
    const int64_t classes = x.shape()[dim];
    const bool probabilities = is_floating(t.dtype());
    if (!probabilities) {
      const Targets checked(t, w, x, dim, compute);
      target = checked.target;
      weight = checked.weight;
      args.classes = data_of<int64_t>(target);
    } else {
      if (t.shape() != x.shape())
        throw RuntimeError("[cross_entropy] expected probabilities of shape ", x.shape(), ", got ",
                           t.shape());
      Targets::check_weight(w, classes);
      if (w) weight = contiguous(converted(*w, compute));
    }
    if (!weight && (probabilities || smoothing != 0))
      weight = full({classes}, Scalar::of_double(1), compute);
    args.weight = weight ? weight->data() : nullptr;
    args.smoothing = smoothing;
    if (smoothing != 0 && !probabilities)
      args.weight_sum = compute == DType::Float32 ? sum_of(data_of<float>(*weight), classes)
                                                  : sum_of(data_of<double>(*weight), classes);
  }
};

}  // namespace

NDArray over(const NDArray& x, bool overwrite) {
  if (!overwrite || !x.is_contiguous()) return NDArray::empty(x.shape(), x.dtype());
  x.mark_written();
  return x;
}

// ---------------------------------------------------------------------------------------- softmax

NDArray softmax(const NDArray& x, int64_t dim, bool log, const NDArray* out) {
  check_floating(log ? "log_softmax" : "softmax", x);
  const int at = wrap_dim(dim, x.ndim());
  if (x.ndim() == 0) return softmax(x.view({1}), 0, log).view({});
  NDArray y = result_in(out, x.shape(), x.dtype(), {&x});
  if (y.numel() > 0)
    kernels().softmax({lines_of(x.shape(), at, computed_in(x.dtype()), {&x, &y}), log});
  return y;
}

NDArray softmax_backward(const NDArray& grad, const NDArray& y, int64_t dim, bool log,
                         bool overwrite) {
  const int at = wrap_dim(dim, y.ndim());
  if (grad.shape() != y.shape())
    throw RuntimeError("[softmax] expected a gradient of shape ", y.shape(), ", got ",
                       grad.shape());
  if (y.ndim() == 0)
    return softmax_backward(grad.view({1}), y.view({1}), 0, log, overwrite).view({});
  NDArray dx = over(y, overwrite);
  if (dx.numel() > 0)
    kernels().softmax_backward(
        {lines_of(y.shape(), at, computed_in(y.dtype()), {&grad, &y, &dx}), log});
  return dx;
}

// ---------------------------------------------------------------------------------- cross-entropy

std::vector<NDArray> cross_entropy(const NDArray& x, const NDArray& target, const NDArray* weight,
                                   int64_t dim, int64_t reduction, int64_t ignore_index,
                                   double smoothing) {
  const int at = wrap_dim(dim, x.ndim());
  CrossEntropy call(x, target, weight, at, smoothing);
  CrossEntropyArgs& args = call.args;
  if (args.classes)
    args.lines = lines_of(x.shape(), at, call.compute, {&x}, false);
  else
    args.lines = lines_of(x.shape(), at, call.compute, {&x, &target}, false);
  const int64_t count = args.lines.count;
  const double divisor = args.classes
                             ? check_classes(call.target, call.weight ? &*call.weight : nullptr,
                                             x.shape()[at], ignore_index)
                         : x.numel() ? static_cast<double>(count)
                                     : 0;
  args.ignore_index = ignore_index;
  const NDArray stats = NDArray::empty({count * kStats + 1}, call.compute);
  const NDArray loss = x.shape()[at]
                           ? NDArray::empty(without(x.shape(), at), call.compute)
                           : full(without(x.shape(), at), Scalar::of_int(0), call.compute);
  args.stats = stats.data();
  args.loss = loss.data();
  kernels().cross_entropy(args);
  Scalar::of_double(divisor).write(
      call.compute, stats.data() + count * kStats * static_cast<int64_t>(itemsize(call.compute)));
  NDArray result = reduced(loss, static_cast<Reduction>(reduction), divisor, x.dtype());
  if (args.classes && smoothing != 0 && x.shape()[at] == 0)  // a share for each of no classes
    result = full(result.shape(), Scalar::of_double(NAN), result.dtype());
  return {result, stats};
}

NDArray cross_entropy_backward(const NDArray& grad, const NDArray& x, const NDArray& target,
                               const NDArray* weight, const NDArray& stats, int64_t dim,
                               int64_t reduction, int64_t ignore_index, double smoothing,
                               bool overwrite) {
  const int at = wrap_dim(dim, x.ndim());
  CrossEntropy call(x, target, weight, at, smoothing);
  CrossEntropyArgs& args = call.args;
  const NDArray dx = over(x, overwrite);
  if (args.classes)
    args.lines = lines_of(x.shape(), at, call.compute, {&x, &dx});
  else
    args.lines = lines_of(x.shape(), at, call.compute, {&x, &target, &dx});
  const NDArray grads = contiguous(converted(grad, call.compute));
  args.ignore_index = ignore_index;
  args.stats = stats.data();
  args.grad = grads.data();
  args.grad_per_line = static_cast<Reduction>(reduction) == Reduction::None;
  args.scale = static_cast<Reduction>(reduction) == Reduction::Mean
                   ? 1 / read_number(stats, args.lines.count * kStats)
                   : 1;
  kernels().cross_entropy_backward(args);
  return dx;
}

// --------------------------------------------------------------------------------------- nll_loss

std::vector<NDArray> nll_loss(const NDArray& x, const NDArray& target, const NDArray* weight,
                              int64_t dim, int64_t reduction, int64_t ignore_index) {
  check_floating("nll_loss", x);
  const int at = wrap_dim(dim, x.ndim());
  const DType compute = computed_in(x.dtype());
  const Targets checked(target, weight, x, at, compute);
  const double total =
      check_classes(checked.target, checked.weights(), x.shape()[at], ignore_index);
  const NDArray loss = NDArray::empty(without(x.shape(), at), compute);
  const int64_t* places = data_of<int64_t>(checked.target);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    using C = std::conditional_t<is_half_type<T>, float, T>;
    if constexpr (is_float_type<T>) {
      const C* weights = checked.weight ? data_of<C>(*checked.weight) : nullptr;
      const int64_t step = x.strides()[at];
      Dims strides = x.strides();
      strides.erase(at);
      Walker<1> walker(loss.shape(), {strides});
      for (int64_t i = 0; i < loss.numel(); ++i, walker.advance()) {
        C value = 0;
        if (places[i] != ignore_index) {
          const int64_t from = walker.offset() + places[i] * step;
          value = -static_cast<C>(read<T>(x.data() + from * static_cast<int64_t>(sizeof(T))));
          if (weights) value *= weights[places[i]];
        }
        data_of<C>(loss)[i] = value;
      }
    }
  });
  return {reduced(loss, static_cast<Reduction>(reduction), total, x.dtype()),
          scalar_array(total, compute)};
}

NDArray nll_loss_backward(const NDArray& grad, const NDArray& target, const NDArray* weight,
                          const NDArray& total, const Dims& shape, int64_t dim, int64_t reduction,
                          int64_t ignore_index) {
  const int at = wrap_dim(dim, shape.size());
  const DType compute = computed_in(grad.dtype());
  const NDArray dx = full(shape, Scalar::of_int(0), grad.dtype());
  const Targets checked(target, weight, dx, at, compute);
  const NDArray grads = contiguous(converted(grad, compute));
  const int64_t* places = data_of<int64_t>(checked.target);
  const int64_t inner = dx.strides()[at];
  with_type(grad.dtype(), [&](auto type) {
    using T = decltype(type);
    using C = std::conditional_t<is_half_type<T>, float, T>;
    if constexpr (is_float_type<T>) {
      const C* weights = checked.weight ? data_of<C>(*checked.weight) : nullptr;
      const bool per_line = static_cast<Reduction>(reduction) == Reduction::None;
      const bool mean = static_cast<Reduction>(reduction) == Reduction::Mean;
      const C scale = mean ? 1 / static_cast<C>(read_number(total, 0)) : 1;
      for (int64_t i = 0; i < checked.target.numel(); ++i) {
        if (places[i] == ignore_index) continue;
        C value = -data_of<C>(grads)[per_line ? i : 0] * scale;
        if (weights) value *= weights[places[i]];
        const int64_t to = i / inner * inner * shape[at] + i % inner + places[i] * inner;
        data_of<T>(dx)[to] = static_cast<T>(value);
      }
    }
  });
  return dx;
}

}  // namespace tt
