#include "core/api/nn/attention.h"

#include <limits>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/shapes.h"
#include "core/tables/attention.h"

namespace tt {

namespace {

Matrices matrices_of(const NDArray& x) {
  const int n = x.ndim();
  return {x.data(), leading(x.strides()), x.strides()[n - 2], x.strides()[n - 1]};
}

// What is added to the scores: 0 or -inf for a bool.
NDArray added(const NDArray& mask, DType compute, const Dims& shape) {
  if (mask.dtype() != DType::Bool) return converted(mask, compute).expand(shape);
  const NDArray seen = new_full(mask, {}, Scalar::of_int(0), compute);
  const NDArray hidden =
      new_full(mask, {}, Scalar::of_double(-std::numeric_limits<double>::infinity()), compute);
  return where(mask, &seen, &hidden).expand(shape);
}

struct Attention {
  DType dtype, compute, sums;
  NDArray q, k, v;
  std::optional<NDArray> mask;
  AttentionArgs args{};

  Attention(const NDArray& query, const NDArray& key, const NDArray& value, const NDArray* masks,
            bool causal, double scale)
      : dtype(query.dtype()),
        compute(taken_in(dtype, backend_of(query).attention->forward)),
        sums(computed_in(dtype)),
        q(converted(query, compute)),
        k(converted(key, compute)),
        v(converted(value, compute)) {
    const int n = q.ndim();
    const bool fits = n >= 2 && k.ndim() == n && v.ndim() == n &&
                      leading(q.shape()) == leading(k.shape()) &&
                      leading(q.shape()) == leading(v.shape()) &&
                      q.shape()[n - 1] == k.shape()[n - 1] && k.shape()[n - 2] == v.shape()[n - 2];
    if (!fits || !is_floating(dtype) || key.dtype() != dtype || value.dtype() != dtype)
      throw RuntimeError("[attention] expected floating q (*, L, E), k (*, S, E) and v (*, S, V), ",
                         "got ", query.dtype(), " ", q.shape(), ", ", key.dtype(), " ", k.shape(),
                         " and ", value.dtype(), " ", v.shape());
    args.batch = leading(q.shape());
    args.queries = q.shape()[n - 2];
    args.keys = k.shape()[n - 2];
    args.width = q.shape()[n - 1];
    args.value_width = v.shape()[n - 1];
    args.q = matrices_of(q);
    args.k = matrices_of(k);
    args.v = matrices_of(v);
    args.causal = causal;
    args.scale = scale;
    if (masks) {
      mask = added(*masks, sums, joined(args.batch, {args.queries, args.keys}));
      args.mask = matrices_of(*mask);
    }
  }
  void run(void (*const (&kernels)[4])(const AttentionArgs&)) const {
    const WithoutGil unlocked(q.numel() * args.keys > kGilGrain);
    launch(q)(kernels[float_kind(compute)], args);
  }
};

// Empty, laid out in the order of x, if its elements are side by side.
NDArray empty_like_rows(const NDArray& x, DType dtype) {
  return x.strides()[x.ndim() - 1] == 1 ? x.new_empty_strided(x.shape(), like_strides(x), dtype)
                                        : x.new_empty(x.shape(), dtype);
}

}  // namespace

std::vector<NDArray> attention(const NDArray& q, const NDArray& k, const NDArray& v,
                               const NDArray* mask, bool causal, double scale) {
  Attention call(q, k, v, mask, causal, scale);
  AttentionArgs& args = call.args;
  const NDArray out =
      q.ndim() == 4 && args.width == args.value_width
          ? empty_like_rows(q, call.compute)
          : q.new_empty(joined(args.batch, {args.queries, args.value_width}), call.compute);
  const NDArray log_sums = q.new_empty(joined(args.batch, {args.queries}), call.sums);
  args.out = matrices_of(out);
  args.log_sums = log_sums.data();
  call.run(backend_of(q).attention->forward);
  return {converted(out, call.dtype), log_sums};
}

std::vector<NDArray> attention_backward(const NDArray& grad, const NDArray& q, const NDArray& k,
                                        const NDArray& v, const NDArray* mask, const NDArray& out,
                                        const NDArray& log_sums, bool causal, double scale) {
  Attention call(q, k, v, mask, causal, scale);
  AttentionArgs& args = call.args;
  const NDArray from = converted(grad, call.compute), result = converted(out, call.compute);
  const NDArray dq = empty_like_rows(q, call.compute), dk = empty_like_rows(k, call.compute),
                dv = empty_like_rows(v, call.compute);
  args.grad = matrices_of(from);
  args.out = matrices_of(result);
  args.log_sums = log_sums.data();
  args.q_grad = matrices_of(dq);
  args.k_grad = matrices_of(dk);
  args.v_grad = matrices_of(dv);
  call.run(backend_of(q).attention->backward);
  return {converted(dq, call.dtype), converted(dk, call.dtype), converted(dv, call.dtype)};
}

}  // namespace tt
