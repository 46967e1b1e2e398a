#include "core/api/reduce.h"

#include <cmath>

#include "core/api/copy.h"
#include "core/gil.h"
#include "core/promote.h"
#include "core/walker.h"
#include "cpu/parallel.h"

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
    if (split.reduced[i] && x.shape()[i] == 0)
      throw IndexError(name, "(): Expected reduction dim ", i, " to have non-zero size. (shape ",
                       x.shape(), ")");
}

}  // namespace

const char* op_name(Reduce op) { return kReduce[static_cast<int>(op)].name; }

NDArray reduce(Reduce op, const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
               std::optional<DType> dtype) {
  const ReduceInfo& info = kReduce[static_cast<int>(op)];
  DType compute = dtype.value_or(x.dtype());
  if (!dtype && info.rule == ResultRule::Sum && !is_floating(compute)) compute = DType::Int64;
  if (info.rule == ResultRule::Float && !is_floating(compute))
    throw RuntimeError(info.name,
                       "(): could not infer output dtype. Input dtype must be either a "
                       "floating point or complex dtype. Got: ",
                       compute);
  if (is_half(compute)) {  // the whole sum in float32, rounded once
    const NDArray wide = reduce(op, x, dims, keepdim, DType::Float32);
    return info.rule == ResultRule::Bool ? wide : astype(wide, compute);
  }
  // any and all of uint8 answer uint8, as in PyTorch.
  const DType result =
      info.rule == ResultRule::Bool && compute != DType::UInt8 ? DType::Bool : compute;
  const ReduceKernel kernel =
      cpu_backend().reduce.kernels[static_cast<int>(op)][static_cast<int>(compute)];
  if (!kernel)
    throw NotImplementedError("[", info.name, "] is not implemented for ", compute, " on cpu");

  const Split split = split_dims(x, dims, keepdim);
  NDArray out = NDArray::empty(split.out_shape, result);
  if (info.empty == Raise) check_not_empty(info.name, x, dims, split);
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
  kernel(args);
  return out;
}

namespace {

// out[o] = first index along the row that wins over all before it.
template <class T, class Better>
void arg_rows(const NDArray& rows, int64_t stride, int64_t size, int64_t* out, Better better) {
  // `rows` is x with the searched dim taken at index 0.
  const int64_t step = stride * static_cast<int64_t>(sizeof(T)), work = rows.numel() * size;
  const WithoutGil unlocked(work > cpu::kGrain);
  cpu::parallel_for(rows.numel(), work > cpu::kGrain ? 1 : work, [&](int64_t begin, int64_t end) {
    Walker<1> walker(rows.shape(), {rows.strides()}, begin);
    for (int64_t o = begin; o < end; ++o, walker.advance()) {
      const char* const row = rows.data() + walker.offset() * static_cast<int64_t>(sizeof(T));
      int64_t best = 0;
      T record = read<T>(row);
      for (int64_t i = 1; i < size; ++i) {
        const T value = read<T>(row + i * step);
        if (!better(value, record)) continue;
        best = i;
        record = value;
      }
      out[o] = best;
    }
  });
}

NDArray arg_extreme(const NDArray& x, int64_t dim, bool keepdim, bool largest) {
  const int d = wrap_dim(dim, x.ndim());
  const char* name = largest ? "argmax" : "argmin";
  Dims shape = x.shape();
  const int64_t size = x.ndim() ? shape[d] : 1, stride = x.ndim() ? x.strides()[d] : 0;
  if (x.ndim()) {
    if (keepdim)
      shape[d] = 1;
    else
      shape.erase(d);
  }
  NDArray out = NDArray::empty(shape, DType::Int64);
  if (out.numel() == 0) return out;
  if (size == 0)
    throw IndexError(name, "(): Expected reduction dim ", dim, " to have non-zero size. (shape ",
                     x.shape(), ")");
  const NDArray rows = x.ndim() ? x.select(d, 0) : x;
  int64_t* answers = reinterpret_cast<int64_t*>(out.data());
  switch (x.dtype()) {
#define X(name, type, text, category)                                             \
  case DType::name:                                                               \
    if (largest)                                                                  \
      arg_rows<type>(rows, stride, size, answers,                                 \
                     [](type a, type b) { return b == b && (a > b || a != a); }); \
    else                                                                          \
      arg_rows<type>(rows, stride, size, answers,                                 \
                     [](type a, type b) { return b == b && (a < b || a != a); }); \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
  return out;
}

}  // namespace

NDArray argmax(const NDArray& x, int64_t dim, bool keepdim) {
  return arg_extreme(x, dim, keepdim, true);
}
NDArray argmin(const NDArray& x, int64_t dim, bool keepdim) {
  return arg_extreme(x, dim, keepdim, false);
}

}  // namespace tt
