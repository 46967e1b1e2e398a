// The reductions of ops.def.
#include "core/dtypes/dtype_sets.h"
#include "core/tables/reduce.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/fold.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/formulas/functors.h"

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

// No sum of elements times this overflows on the way.
constexpr double kDown = 0x1p-64;

// The same of floats, where a sum may overflow on the way and the answer does not: next to it goes
// one of the elements times kDown.
template <class F, class T>
struct Sums {
  struct State {
    T sum, small;
  };
  T* out;
  int64_t n;

  __device__ State init() const { return {0, 0}; }
  __device__ State step(State s, const char* from, DType dtype, int64_t) const {
    const T x = load_as<T>(from, dtype);
    return {F::step(s.sum, x), F::step(s.small, x * static_cast<T>(kDown))};
  }
  __device__ State combine(State s, State t) const {
    return {F::combine(s.sum, t.sum), F::combine(s.small, t.small)};
  }
  __device__ void finish(State s, int64_t output) const {
    const T count = static_cast<T>(n), answer = F::finish(s.sum, count);
    out[output] = is_finite(answer) ? answer : F::finish(s.small, count) / static_cast<T>(kDown);
  }
};
template <class F, class T>
constexpr bool may_overflow =
    std::is_floating_point_v<T> &&
    (std::is_same_v<F, sum_op> || std::is_same_v<F, nansum_op> || std::is_same_v<F, mean_op>);

enum class Result { Same, Sum, Float, Bool };

template <class F, class Type, Result result>
void reduce(const ReduceArgs& args) {
  using R = std::conditional_t<result == Result::Bool, bool, Type>;
  const Folded all = folded_of(args.x, args.dtype, args.kept, args.kept_strides, args.reduced,
                               args.reduced_strides);
  using Op = std::conditional_t<may_overflow<F, Type>, Sums<F, Type>, Reduction<F, Type, R>>;
  run_fold(Op{numbers<R>(args.out), all.length}, all);
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

const ReduceTable reduce_table = [] {
  ReduceTable all{};
  int op = 0;
#define REDUCE(name, result, set, ...) fill<name##_op, set, Result::result>(all.kernels[op++]);
#include "core/ops.def"
  fill_extremes(all);
  return all;
}();

}  // namespace tt::cuda
