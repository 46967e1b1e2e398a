// softmax and log_softmax: a line's statistics while it is in the first cache, then its answer.
// Built once per instruction set.
#include "core/tables/softmax.h"

#include "cpu/infra/line_ops.h"

namespace tt::cpu {
namespace {

// y = exp(x - m) / sum, or (x - m) - log(sum), where m is the largest x: nothing overflows.
template <class T, bool kLog>
struct Softmax {
  using Args = SoftmaxArgs;
  template <class View>
  static void apply(const View& view, const Args&, int64_t) {
    auto peak = largest<T>(view);
    typename View::Stat sum[1];
    view.reduce(sum, T(0), Plus(), [&](const auto& at, Vec<T>(&term)[1]) {
      at.prefetch_next(0);
      if constexpr (!kLog) at.prefetch(1);
      term[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
      if constexpr (!kLog) at.store(1, term[0]);
    });
    if constexpr (kLog) {
      const auto log_sum = sum[0].map([](Vec<T> v) { return log(v); });
      view.each([&](const auto& at) {
        at.prefetch(1);
        at.store(1, at.load(0) - peak[at] - log_sum[at]);
      });
    } else {
      const auto factor = sum[0].map([](Vec<T> v) { return 1 / v; });
      view.each([&](const auto& at) { at.store(1, at.load(1) * factor[at]); });
    }
  }
};

// dx = (grad - sum(grad y)) y, or grad - exp(y) sum(grad).
template <class T, bool kLog>
struct SoftmaxBackward {
  using Args = SoftmaxArgs;
  template <class View>
  static void apply(const View& view, const Args&, int64_t) {
    typename View::Stat sum[1];
    view.reduce(sum, T(0), Plus(), [](const auto& at, Vec<T>(&term)[1]) {
      term[0] = at.load(0);
      if constexpr (!kLog) term[0] *= at.load(1);
    });
    const auto total = sum[0];
    view.each([&](const auto& at) {
      const Vec<T> grad = at.load(0), y = at.load(1);
      if constexpr (kLog)
        at.store(2, grad - exp_below(y) * total[at]);
      else
        at.store(2, (grad - total[at]) * y);
    });
  }
};

template <template <class, bool> class Op, bool kAsTheyLie>
void run_softmax(const SoftmaxArgs& args) {
  if (args.lines.compute == DType::Float32)
    args.log ? run<float, Op<float, true>, true>(args)
             : run<float, Op<float, false>, kAsTheyLie>(args);
  else
    args.log ? run<double, Op<double, true>>(args) : run<double, Op<double, false>>(args);
}

}  // namespace

namespace TT_ISA {
extern const SoftmaxTable softmax_table = {run_softmax<Softmax, false>,
                                           run_softmax<SoftmaxBackward, true>};
}

}  // namespace tt::cpu
