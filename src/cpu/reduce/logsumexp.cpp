// logsumexp of lines, which are read while they are in the first cache. Built once per instruction
// set.
#include "core/tables/reduce.h"
#include "cpu/infra/line_ops.h"

namespace tt::cpu {
namespace {

template <class T>
struct LogSumExp {
  using Args = LogSumExpArgs;
  template <class View>
  static void apply(const View& view, const Args& a, int64_t position) {
    auto peak = largest<T>(view);
    typename View::Stat sum[1];
    view.reduce(sum, T(0), Plus(), [&](const auto& at, Vec<T>(&term)[1]) {
      at.prefetch_next(0);
      term[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
    });
    auto log_sum = sum[0].map([](Vec<T> v) { return log(v); });
    for (int64_t k = 0; k < view.lines(); ++k) {
      T answer = log_sum.line(k) + peak.line(k);
      if (peak.line(k) - peak.line(k) !=
          0) {  // infinite: that is the answer, unless there are NaNs
        answer = peak.line(k);
        for (int64_t i = 0; i < view.size; ++i)
          if (const T x = *view.at_line(0, i, k); x != x) answer = x;
      }
      numbers<T>(a.out)[position + k] = answer;
    }
  }
};

void logsumexp(const LogSumExpArgs& args) {
  args.lines.compute == DType::Float32 ? run<float, LogSumExp<float>, true>(args)
                                       : run<double, LogSumExp<double>>(args);
}

}  // namespace

namespace TT_ISA {
extern const ReduceTable reduce_logsumexp_table = {{}, {}, {}, logsumexp, nullptr};
}

}  // namespace tt::cpu
