#include "core/api/nn/cross_entropy.h"

#include <cmath>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/lines_of.h"
#include "core/result.h"
#include "core/shapes.h"
#include "core/tables/cross_entropy.h"

namespace tt {

namespace {

// Throws for a class out of range.
void check_classes(const NDArray& target, int64_t classes, int64_t ignore_index) {
  if (launch(target)(backend_of(target).cross_entropy->labels,
                     {data_of<int64_t>(target), target.numel(), classes, ignore_index}))
    return;
  const HostElements<int64_t> seen(target);
  for (int64_t i = 0; i < seen.size(); ++i)
    if (const int64_t place = seen[i]; place != ignore_index && (place < 0 || place >= classes))
      throw IndexError("Target ", place, " is out of bounds.");
}

// `losses`, one per line and in float32 or float64, as the caller wants them; the mean's divisor is
// written in any case.
NDArray averaged(const NDArray& losses, Reduction reduction, const DivisorArgs& by, char* divisor,
                 DType dtype) {
  const bool each = reduction == Reduction::None;
  const NDArray out = each ? converted(losses, dtype) : losses.new_empty({}, dtype);
  launch(losses)(backend_of(losses).cross_entropy->average,
                 {losses.dtype(), by, losses.data(), reduction == Reduction::Mean, divisor, dtype,
                  each ? nullptr : out.data()});
  return out;
}

// Classes as int64 and weights per class, both contiguous.
struct Targets {
  NDArray target;
  std::optional<NDArray> weight;

  Targets(const NDArray& t, const NDArray* w, const NDArray& x, int dim, DType dtype)
      : target(contiguous(t)), weight(prepared(w, dtype)) {
    if (target.dtype() != DType::Int64)
      throw TypeError("[nll_loss] expected int64 classes, got ", target.dtype());
    if (target.numel() != checked_numel(without(x.shape(), dim), "nll_loss"))
      throw RuntimeError("[nll_loss] expected a target of shape ", without(x.shape(), dim),
                         ", got ", target.shape());
    check_weight(w, x.shape()[dim]);
  }
  // Throws where the weight, that of a loss of x's dtype, has another one.
  static void check_dtype(const NDArray* w, const NDArray& x) {
    if (w && w->dtype() != x.dtype())
      throw RuntimeError("expected scalar type ", type_name(x.dtype()), " but found ",
                         type_name(w->dtype()));
  }
  static void check_weight(const NDArray* w, int64_t classes) {
    if (w && w->shape() != Dims{classes})
      throw RuntimeError("[nll_loss] expected a weight of shape [", classes, "], got ", w->shape());
  }
};

// The incoming gradient, and what a mean divided by.
void set_grad(CrossEntropyArgs& args, const NDArray& grad, int64_t reduction, const char* divisor) {
  args.grad = grad.data();
  args.grad_per_line = static_cast<Reduction>(reduction) == Reduction::None;
  if (static_cast<Reduction>(reduction) == Reduction::Mean) args.divisor = divisor;
}

constexpr int kStats = 3;  // per line; the divisor of the mean follows them

// What both directions of cross-entropy take, and the arrays that it points into.
struct CrossEntropy {
  CrossEntropyArgs args{};
  DType compute;
  NDArray target;
  std::optional<NDArray> weight;

  CrossEntropy(const NDArray& x, const NDArray& t, const NDArray* w, int dim, double smoothing)
      : compute(computed_in(x.dtype())), target(t) {
    check_floating("cross_entropy", x.dtype());
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
      weight = prepared(w, compute);
    }
    if (!weight && (probabilities || smoothing != 0))
      weight = new_full(x, {classes}, Scalar::of_double(1), compute);
    args.weight = data_of(weight);
    args.smoothing = smoothing;
  }
  // Where the mean's divisor stands in `stats`.
  char* divisor(const NDArray& stats) const {
    return stats.data() + args.lines.count * kStats * static_cast<int64_t>(itemsize(compute));
  }
};

}  // namespace

std::vector<NDArray> cross_entropy(const NDArray& x, const NDArray& target, const NDArray* weight,
                                   int64_t dim, int64_t reduction, int64_t ignore_index,
                                   double smoothing, bool as_computed) {
  const int at = wrap_dim(dim, x.ndim());
  if (!as_computed) Targets::check_dtype(weight, x);
  CrossEntropy call(x, target, weight, at, smoothing);
  CrossEntropyArgs& args = call.args;
  if (args.classes)
    args.lines = lines_of(x.shape(), at, call.compute, {&x}, 0);
  else
    args.lines = lines_of(x.shape(), at, call.compute, {&x, &target}, 0);
  if (args.classes) check_classes(call.target, x.shape()[at], ignore_index);
  const int64_t count = args.lines.count;
  args.ignore_index = ignore_index;
  const NDArray stats = x.new_empty({count * kStats + 1}, call.compute);
  const NDArray loss = x.shape()[at]
                           ? x.new_empty(without(x.shape(), at), call.compute)
                           : new_full(x, without(x.shape(), at), Scalar::of_int(0), call.compute);
  args.stats = stats.data();
  args.loss = loss.data();
  launch(x)(backend_of(x).cross_entropy->cross_entropy, args);
  const DivisorArgs by{x.numel() ? count : 0, args.classes, args.weight, ignore_index,
                       x.shape()[at]};
  NDArray result = averaged(loss, static_cast<Reduction>(reduction), by, call.divisor(stats),
                            as_computed ? call.compute : x.dtype());
  if (args.classes && smoothing != 0 && x.shape()[at] == 0)  // a share for each of no classes
    result = new_full(x, result.shape(), Scalar::of_double(NAN), result.dtype());
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
  set_grad(args, grads, reduction, call.divisor(stats));
  launch(x)(backend_of(x).cross_entropy->cross_entropy_backward, args);
  return dx;
}

// --------------------------------------------------------------------------------------- nll_loss

namespace {

// What both directions take; x, or its gradient, which is written.
CrossEntropyArgs nll_args(const NDArray& x, const Targets& checked, int dim, int64_t ignore_index,
                          bool is_written) {
  CrossEntropyArgs args{};
  args.lines = lines_of(x.shape(), dim, computed_in(x.dtype()), {&x}, is_written ? 1 : 0);
  args.classes = data_of<int64_t>(checked.target);
  args.weight = data_of(checked.weight);
  args.ignore_index = ignore_index;
  return args;
}

}  // namespace

std::vector<NDArray> nll_loss(const NDArray& x, const NDArray& target, const NDArray* weight,
                              int64_t dim, int64_t reduction, int64_t ignore_index) {
  check_floating("nll_loss", x.dtype());
  Targets::check_dtype(weight, x);
  const int at = wrap_dim(dim, x.ndim());
  const DType compute = computed_in(x.dtype());
  const Targets checked(target, weight, x, at, compute);
  check_classes(checked.target, x.shape()[at], ignore_index);
  CrossEntropyArgs args = nll_args(x, checked, at, ignore_index, false);
  const NDArray loss = x.new_empty(without(x.shape(), at), compute);
  const NDArray total = x.new_empty({}, compute);
  args.loss = loss.data();
  launch(x)(backend_of(x).cross_entropy->nll, args);
  const DivisorArgs by{args.lines.count, args.classes, args.weight, ignore_index, x.shape()[at]};
  return {averaged(loss, static_cast<Reduction>(reduction), by, total.data(), x.dtype()), total};
}

NDArray nll_loss_backward(const NDArray& grad, const NDArray& target, const NDArray* weight,
                          const NDArray& total, const Dims& shape, int64_t dim, int64_t reduction,
                          int64_t ignore_index) {
  const int at = wrap_dim(dim, shape.size());
  const DType compute = computed_in(grad.dtype());
  const NDArray dx = new_full(grad, shape, Scalar::of_int(0), grad.dtype());
  const Targets checked(target, weight, dx, at, compute);
  const NDArray grads = contiguous(converted(grad, compute));
  CrossEntropyArgs args = nll_args(dx, checked, at, ignore_index, true);
  set_grad(args, grads, reduction, total.data());
  launch(grad)(backend_of(grad).cross_entropy->nll_backward, args);
  return dx;
}

}  // namespace tt
