// softmax, log_softmax and cross-entropy: a line's statistics while it is in the first cache, then
// its answer. Built once per instruction set.
#include "cpu/infra/line_views.h"
#include "cpu/infra/lines.h"

namespace tt::cpu {
namespace {

constexpr int64_t kGrainOfExp = 8192;  // elements whose exp is worth a second thread

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

// ---------------------------------------------------------------------------------- cross-entropy

// What is read once for all lines.
template <class T>
struct CrossEntropyCall {
  const CrossEntropyArgs& args;
  const Lines& lines = args.lines;
  T weight_sum = 0, scale = 1;  // scale: of grad

  CrossEntropyCall(const CrossEntropyArgs& a) : args(a) {
    if (a.loss && a.classes && a.smoothing != 0)
      weight_sum = static_cast<T>(sum_of(numbers<T>(a.weight), lines.size));
    if (a.divisor) scale = static_cast<T>(1 / static_cast<double>(*numbers<T>(a.divisor)));
  }
};

// What targets that are classes add to a line: its element at the class.
template <class T>
struct Target {
  bool counts;
  int64_t place;
  T weight;  // of the class, without the share that smoothing gives away

  Target(const CrossEntropyArgs& a, int64_t line)
      : counts(a.classes[line] != a.ignore_index), place(counts ? a.classes[line] : 0) {
    weight = counts ? static_cast<T>(1 - a.smoothing) : 0;
    if (a.weight && counts) weight *= numbers<T>(a.weight)[place];
  }
};

constexpr int kStats = 3;

template <class T>
void write_line(const CrossEntropyArgs& a, int64_t line, T loss, T peak, T log_sum, T mass) {
  T* const stats = numbers<T>(a.stats) + line * kStats;
  stats[0] = peak, stats[1] = log_sum, stats[2] = mass;
  numbers<T>(a.loss)[line] = loss;
}

template <class T>
T grad_of(const CrossEntropyCall<T>& call, int64_t line) {
  const CrossEntropyArgs& a = call.args;
  return numbers<T>(a.grad)[a.grad_per_line ? line : 0] * call.scale;
}

// Targets are classes. kSmooth: a share of each target is spread over all classes.
template <class T, bool kSmooth>
struct ClassLoss {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    const CrossEntropyArgs& a = call.args;
    auto peak = largest<T>(view);
    typename View::Stat sums[1 + kSmooth];
    view.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[1 + kSmooth]) {
      at.prefetch_next(0);
      terms[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
      if constexpr (kSmooth)
        terms[1] = at.load_class(numbers<T>(a.weight)) * (at.load(0) - peak[at]);
    });
    auto log_sum = sums[0].map([](Vec<T> v) { return log(v); });
    const T share = static_cast<T>(a.smoothing / view.size);
    for (int64_t k = 0; k < view.lines(); ++k) {
      const int64_t line = position + k;
      const Target<T> target(a, line);
      T loss = 0, mass = 0;
      if (target.counts) {
        const T x = *view.at_line(0, target.place, k) - peak.line(k);
        loss = target.weight * (log_sum.line(k) - x);
        mass = target.weight;
        if constexpr (kSmooth) {
          loss += share * (log_sum.line(k) * call.weight_sum - sums[1].line(k));
          mass += share * call.weight_sum;
        }
      }
      write_line<T>(a, line, loss, peak.line(k), log_sum.line(k), mass);
    }
  }
};

// dx = (p mass - what the target and smoothing weigh) grad, where p = softmax(x).
template <class T, bool kSmooth>
struct ClassLossBackward {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    const CrossEntropyArgs& a = call.args;
    typename View::Stat peak, log_sum, factor, share, counts;
    typename View::Stat taken;
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T* stats = numbers<T>(a.stats) + (position + k) * kStats;
      const Target<T> target(a, position + k);
      const T grad = grad_of<T>(call, position + k);
      peak.line(k) = stats[0], log_sum.line(k) = stats[1];
      counts.line(k) = target.counts;
      factor.line(k) = target.counts ? grad * stats[2] : 0;
      share.line(k) = target.counts ? grad * static_cast<T>(a.smoothing / view.size) : 0;
      taken.line(k) = target.counts ? grad * target.weight : 0;
    }
    view.each([&](const auto& at) {
      at.prefetch(0), at.prefetch(1);
      Vec<T> dx = exp_below((at.load(0) - peak[at]) - log_sum[at]) * factor[at];
      if constexpr (kSmooth) dx -= at.load_class(numbers<T>(a.weight)) * share[at];
      at.store(1, select(counts[at] != 0, dx, Vec<T>{}));
    });
    for (int64_t k = 0; k < view.lines(); ++k)
      *view.at_line(1, Target<T>(a, position + k).place, k) -= taken.line(k);
  }
};

// Targets are probabilities. Streams x, target.
template <class T>
struct ProbabilityLoss {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    const CrossEntropyArgs& a = call.args;
    auto peak = largest<T>(view);
    const T kept = static_cast<T>(1 - a.smoothing);
    const T share = static_cast<T>(a.smoothing / view.size);
    typename View::Stat sums[3];
    view.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[3]) {
      terms[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
      terms[1] = at.load_class(numbers<T>(a.weight)) * (at.load(1) * kept + share);
      terms[2] = terms[1] * (at.load(0) - peak[at]);
    });
    auto log_sum = sums[0].map([](Vec<T> v) { return log(v); });
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T loss = log_sum.line(k) * sums[1].line(k) - sums[2].line(k);
      write_line<T>(a, position + k, loss, peak.line(k), log_sum.line(k), sums[1].line(k));
    }
  }
};

template <class T>
struct ProbabilityLossBackward {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    const CrossEntropyArgs& a = call.args;
    const T kept = static_cast<T>(1 - a.smoothing);
    const T share = static_cast<T>(a.smoothing / view.size);
    typename View::Stat peak, log_sum, factor, grad;
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T* stats = numbers<T>(a.stats) + (position + k) * kStats;
      peak.line(k) = stats[0], log_sum.line(k) = stats[1];
      grad.line(k) = grad_of<T>(call, position + k);
      factor.line(k) = grad.line(k) * stats[2];
    }
    view.each([&](const auto& at) {
      const Vec<T> mass = at.load_class(numbers<T>(a.weight)) * (at.load(1) * kept + share);
      at.store(2, exp_below((at.load(0) - peak[at]) - log_sum[at]) * factor[at] - mass * grad[at]);
    });
  }
};

// --------------------------------------------------------------------------------------- the table

constexpr int kMany = 512 / kVectorBytes;

template <class T, class Op>
void rows(const void* args, char* const* data, const int64_t* steps, int64_t position,
          int64_t count) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  Op::apply(Rows<T>{data, steps, a.lines.size, count}, a, position);
}
// The output goes through scratch memory: where lines are a multiple of 4096 bytes apart, loads
// that follow a store would have to wait for it, because they look like loads of the same address.
template <class T, class Op, int kVectors>
void columns(const void* args, char* const* data, const int64_t* steps, int64_t position,
             char* scratch) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  constexpr int64_t kBytes = kVectors * kVectorBytes;
  const Lines& lines = a.lines;
  char* seen[Lines::kMaxStreams];
  int64_t seen_steps[Lines::kMaxStreams];
  for (int s = 0; s < lines.streams; ++s) seen[s] = data[s], seen_steps[s] = steps[s];
  const int out = lines.streams - 1;
  if (lines.has_output) seen[out] = scratch, seen_steps[out] = kBytes;
  Op::apply(Columns<T, kVectors>{seen, seen_steps, lines.size}, a, position);
  if (!lines.has_output) return;
  char* to = data[out];
  for (int64_t i = 0; i < lines.size; ++i, to += steps[out], scratch += kBytes)
    __builtin_memcpy(to, scratch, kBytes);
}
template <class T, class Op>
void run(const typename Op::Args& args) {
  run_lines(args.lines,
            {rows<T, Op>,
             Rows<T>::kMost,
             {columns<T, Op, kMany>, columns<T, Op, 1>},
             {kMany * lanes<T>, lanes<T>}},
            &args, kGrainOfExp);
}

void logsumexp(const LogSumExpArgs& args) {
  args.lines.compute == DType::Float32 ? run<float, LogSumExp<float>>(args)
                                       : run<double, LogSumExp<double>>(args);
}

template <template <class, bool> class Op>
void run_softmax(const SoftmaxArgs& args) {
  if (args.lines.compute == DType::Float32)
    args.log ? run<float, Op<float, true>>(args) : run<float, Op<float, false>>(args);
  else
    args.log ? run<double, Op<double, true>>(args) : run<double, Op<double, false>>(args);
}

template <class T, template <class, bool> class OfClasses, template <class> class OfProbabilities>
void run_cross_entropy_in(const CrossEntropyArgs& args) {
  if (!args.classes)
    run<T, OfProbabilities<T>>(args);
  else if (args.smoothing != 0)
    run<T, OfClasses<T, true>>(args);
  else
    run<T, OfClasses<T, false>>(args);
}
template <template <class, bool> class OfClasses, template <class> class OfProbabilities>
void run_cross_entropy(const CrossEntropyArgs& args) {
  if (args.lines.compute == DType::Float32)
    run_cross_entropy_in<float, OfClasses, OfProbabilities>(args);
  else
    run_cross_entropy_in<double, OfClasses, OfProbabilities>(args);
}

}  // namespace

namespace TT_ISA {
const NormTable norm_table = {run_softmax<Softmax>,
                              run_softmax<SoftmaxBackward>,
                              logsumexp,
                              run_cross_entropy<ClassLoss, ProbabilityLoss>,
                              run_cross_entropy<ClassLossBackward, ProbabilityLossBackward>,
                              layer_norm,
                              layer_norm_backward,
                              batch_norm,
                              batch_norm_backward,
                              running_update,
                              running_read};
}

}  // namespace tt::cpu
