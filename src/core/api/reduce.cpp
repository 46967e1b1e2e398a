#include "core/api/reduce.h"

#include <cmath>

#include "core/api/cast.h"
#include "core/devices/launch.h"
#include "core/dtypes/promote.h"
#include "core/dtypes/type_name.h"
#include "core/lines_of.h"
#include "core/shapes.h"
#include "core/tables/reduce.h"

namespace tt {

namespace {

constexpr double Raise = -1;  // never a neutral element of ops.def

struct ReduceInfo {
  const char* name;
  ResultRule rule;
  double empty;  // what no elements give, or Raise
};

constexpr ReduceInfo kReduce[] = {
#define REDUCE(name, rule, dtypes, empty, ...) {#name, ResultRule::rule, empty},
#include "core/ops.def"
};

struct Split {
  bool reduced[kMaxDims] = {};
  Dims out_shape;
};

Split split_dims(const NDArray& x, const std::optional<Dims>& dims, bool keepdim) {
  Split split;
  if (!dims || dims->empty()) {
    std::fill_n(split.reduced, x.ndim(), true);
  } else {
    for (int64_t dim : *dims) {
      bool& flag = split.reduced[wrap_dim(dim, x.ndim())];
      if (flag) throw RuntimeError("dim ", dim, " appears multiple times in the list of dims");
      flag = true;
    }
  }
  for (int i = 0; i < x.ndim(); ++i) {
    if (!split.reduced[i])
      split.out_shape.push_back(x.shape()[i]);
    else if (keepdim)
      split.out_shape.push_back(1);
  }
  return split;
}

// For what has no value of no elements.
void check_not_empty(const char* name, const NDArray& x, const std::optional<Dims>& dims,
                     const Split& split) {
  if (x.numel() > 0) return;
  if (!dims || dims->empty())
    throw RuntimeError(name,
                       "(): Expected reduction dim to be specified for input.numel() == 0. "
                       "Specify the reduction dim with the 'dim' argument. (shape ",
                       x.shape(), ")");
  for (int i = 0; i < x.ndim(); ++i)
    if (split.reduced[i]) check_size(name, i, x.shape());
}

}  // namespace

NDArray reduce(Reduce op, const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
               std::optional<DType> dtype, const NDArray* wanted) {
  const ReduceInfo& info = kReduce[static_cast<int>(op)];
  DType compute = dtype.value_or(x.dtype());
  if (!dtype && info.rule == ResultRule::Sum && !is_floating(compute)) compute = DType::Int64;
  if (info.rule == ResultRule::Float && !is_floating(compute))
    throw RuntimeError(info.name,
                       "(): could not infer output dtype. Input dtype must be either a "
                       "floating point or complex dtype. Got: ",
                       type_name(compute));
  if (is_half(compute)) {  // the whole sum in float32, rounded once
    const NDArray wide = reduce(op, x, dims, keepdim, DType::Float32);
    return info.rule == ResultRule::Bool ? wide : astype(wide, compute, wanted);
  }
  // any and all of uint8 answer uint8, as in PyTorch.
  const DType result =
      info.rule == ResultRule::Bool && compute != DType::UInt8 ? DType::Bool : compute;
  const ReduceKernel kernel =
      backend_of(x).reduce->kernels[static_cast<int>(op)][static_cast<int>(compute)];
  if (!kernel) throw not_implemented(info.name, compute);

  const Split split = split_dims(x, dims, keepdim);
  if (info.empty == Raise) check_not_empty(info.name, x, dims, split);
  NDArray out = result_in(wanted, split.out_shape, result, x.device(), {&x});
  if (out.numel() == 0) return out;
  if (x.numel() == 0) {
    copy_into(out, Scalar::of_double(info.empty));
    return out;
  }
  ReduceArgs args{x.data(), x.dtype(), compute, out.data(), {}, {}, {}, {}};
  const int64_t size = itemsize(x.dtype());
  for (int i = 0; i < x.ndim(); ++i) {
    if (x.shape()[i] == 1) continue;
    (split.reduced[i] ? args.reduced : args.kept).push_back(x.shape()[i]);
    (split.reduced[i] ? args.reduced_strides : args.kept_strides).push_back(x.strides()[i] * size);
  }
  launch(x)(kernel, args);
  return out;
}

namespace {

// x with what is reduced as one dim, the last.
NDArray reduced_last(const NDArray& x, const Split& split) {
  Dims order, shape;
  int64_t size = 1;
  for (const bool reduced : {false, true})
    for (int i = 0; i < x.ndim(); ++i)
      if (split.reduced[i] == reduced) {
        order.push_back(i);
        if (reduced)
          size *= x.shape()[i];
        else
          shape.push_back(x.shape()[i]);
      }
  shape.push_back(size);
  return reshape(x.permute(order), shape);
}

// Lines lie along the last dim. One long line is taken in parts, so that every thread has some.
void logsumexp_of(const NDArray& lines, const NDArray& out) {
  constexpr int64_t kPart = 1 << 15;
  const int64_t n = lines.shape().back(), parts = (n - 1) / kPart;
  if (out.numel() > 1 || parts < 2)
    return launch(lines)(
        backend_of(lines).reduce->logsumexp,
        {lines_of(lines.shape(), lines.ndim() - 1, out.dtype(), {&lines}, 0), out.data()});
  const NDArray line = reshape(lines, {n}), sums = lines.new_empty({parts + 1}, out.dtype());
  logsumexp_of(line.slice(0, 0, parts * kPart, 1).unfold(0, kPart, kPart),
               sums.slice(0, 0, parts, 1));
  logsumexp_of(line.slice(0, parts * kPart, n, 1), sums.slice(0, parts, parts + 1, 1));
  logsumexp_of(sums, out);
}

}  // namespace

NDArray logsumexp(const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
                  const NDArray* wanted) {
  if (!is_floating(x.dtype()))
    throw NotImplementedError("[logsumexp] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  const Split split = split_dims(x, dims, keepdim);
  const NDArray out = result_in(wanted, split.out_shape, computed_in(x.dtype()), x.device(), {&x});
  if (x.numel() == 0)
    copy_into(out, Scalar::of_double(-INFINITY));
  else
    logsumexp_of(reduced_last(x, split), out);
  return out.dtype() == x.dtype() ? out : astype(out, x.dtype(), wanted);
}

NDArray variance(const NDArray& x, const std::optional<Dims>& dims, bool keepdim, double freedom,
                 bool root, bool centered) {
  const Split split = split_dims(x, dims, keepdim);
  const NDArray out = x.new_empty(split.out_shape, computed_in(x.dtype()));
  if (out.numel() > 0 && x.numel() == 0) {
    copy_into(out, Scalar::of_double(centered ? NAN : 0));
  } else if (out.numel() > 0) {
    const NDArray lines = reduced_last(x, split);
    launch(x)(backend_of(x).reduce->variance,
              {lines_of(lines.shape(), lines.ndim() - 1, out.dtype(), {&lines}, 0), out.data(),
               freedom, root, centered});
  }
  return out.dtype() == x.dtype() ? out : astype(out, x.dtype());
}

std::vector<NDArray> extremes(const NDArray& x, int64_t dim, bool keepdim, bool largest,
                              bool with_values, const Outs& outs) {
  const int d = wrap_dim(dim, x.ndim());
  const Dims shape = x.ndim() ? reduced(x.shape(), d, keepdim) : Dims();
  const char* const name =
      with_values ? (largest ? "max" : "min") : (largest ? "argmax" : "argmin");
  if (x.ndim()) check_size(name, d, x.shape());
  std::vector<NDArray> out;
  if (with_values) out.push_back(result_in(outs[0], shape, x.dtype(), x.device(), {&x}));
  out.push_back(
      result_in(outs[1], shape, DType::Int64, x.device(), {&x, with_values ? &out[0] : nullptr}));
  if (out[0].numel() == 0) return out;
  const DType compute = is_half(x.dtype()) ? DType::Float32 : x.dtype();
  const NDArray line = x.ndim() ? x : x.view({1});
  const ArgArgs args{lines_of(line.shape(), d, compute, {&line}, 0),
                     with_values ? out[0].data() : nullptr, data_of<int64_t>(out.back())};
  const ReduceTable& table = *backend_of(x).reduce;
  launch(x)((largest ? table.argmax : table.argmin)[static_cast<int>(compute)], args);
  return out;
}

}  // namespace tt
