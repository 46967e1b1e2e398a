// The reductions of ops.def.
#include "core/dtype_sets.h"
#include "core/tables/reduce.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/fold.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/functors.h"

// F over elements that are converted to Type; bools are 0 and 1 there.
template <class F, class Type, class R>
struct Reduction {
  using State = std::conditional_t<std::is_same_v<Type, bool>, uint8_t, Type>;
  R* out;
  int64_t n;

  __device__ State init() const { return F::template init<State>(); }
  __device__ State step(State s, const char* x, DType dtype, int64_t) const {
    return F::step(s, static_cast<State>(load_as<Type>(x, dtype)));
  }
  __device__ State combine(State s, State t) const { return F::combine(s, t); }
  __device__ void finish(State s, int64_t output) const {
    out[output] = converted<R>(F::finish(s, static_cast<State>(n)));
  }
};

enum class Result { Same, Sum, Float, Bool };

template <class F, class Type, Result result>
void reduce(const ReduceArgs& args) {
  using R = std::conditional_t<result == Result::Bool, bool, Type>;
  const Folded all = folded_of(args.x, args.dtype, args.kept, args.kept_strides, args.reduced,
                               args.reduced_strides);
  run_fold(Reduction<F, Type, R>{numbers<R>(args.out), all.length}, all);
}

template <class F, class Set, Result result>
void fill(ReduceKernel (&entries)[kDTypes]) {
#define X(name, type, text, category)                                 \
  if constexpr (Set::template has<type> && is_native<type>) {         \
    entries[static_cast<int>(DType::name)] = reduce<F, type, result>; \
  }
  TT_FOR_EACH_DTYPE(X)
#undef X
}

}  // namespace

ReduceTable reduce_table() {
  ReduceTable all{};
  int op = 0;
#define REDUCE(name, result, set, ...) fill<name##_op, set, Result::result>(all.kernels[op++]);
#include "core/ops.def"
  fill_extremes(all);
  return all;
}

}  // namespace tt::cuda
