// Cross-entropy: a line's statistics while it is in the first cache, then its answer. Built once
// per instruction set.
#include "core/tables/cross_entropy.h"

#include "cpu/cross_entropy/nll.h"
#include "cpu/infra/line_ops.h"

namespace tt::cpu {
namespace {

constexpr int kStats = 3;

// What is read once for all lines, and what is known of each.
template <class T>
struct CrossEntropyCall {
  const CrossEntropyArgs& args;
  const Lines& lines = args.lines;
  const T* weight = numbers<T>(args.weight);
  // What smoothing leaves to a target, and gives to each class: divided first, a sum may overflow.
  T kept = static_cast<T>(1 - args.smoothing);
  T share = static_cast<T>(args.smoothing / lines.size);
  T weight_sum = 0, scale = 1;  // scale: of grad

  CrossEntropyCall(const CrossEntropyArgs& a) : args(a) {
    if (a.loss && a.classes && a.smoothing != 0)
      weight_sum = static_cast<T>(sum_of(weight, lines.size));
    if (a.divisor) scale = static_cast<T>(1 / static_cast<double>(*numbers<T>(a.divisor)));
  }

  T* stats(int64_t line) const { return numbers<T>(args.stats) + line * kStats; }
  void write(int64_t line, T loss, T peak, T log_sum, T mass) const {
    T* const out = stats(line);
    out[0] = peak, out[1] = log_sum, out[2] = mass;
    numbers<T>(args.loss)[line] = loss;
  }
  T grad(int64_t line) const {
    return numbers<T>(args.grad)[args.grad_per_line ? line : 0] * scale;
  }
};

// What targets that are classes add to a line: its element at the class.
template <class T>
struct Target {
  bool counts;
  int64_t place;
  T weight;  // of the class, without the share that smoothing gives away

  Target(const CrossEntropyCall<T>& call, int64_t line)
      : counts(call.args.classes[line] != call.args.ignore_index),
        place(counts ? call.args.classes[line] : 0),
        weight(counts ? call.kept : 0) {
    if (call.weight && counts) weight *= call.weight[place];
  }
};

// Targets are classes. kSmooth: a share of each target is spread over all classes.
template <class T, bool kSmooth>
struct ClassLoss {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    auto peak = largest<T>(view);
    typename View::Stat sums[1 + kSmooth];
    view.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[1 + kSmooth]) {
      at.prefetch_next(0);
      terms[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
      if constexpr (kSmooth)
        terms[1] = at.load_class(call.weight) * call.share * (at.load(0) - peak[at]);
    });
    auto log_sum = sums[0].map([](Vec<T> v) { return log(v); });
    for (int64_t k = 0; k < view.lines(); ++k) {
      const Target<T> target(call, position + k);
      T loss = 0, mass = 0;
      if (target.counts) {
        const T x = static_cast<T>(*view.at_line(0, target.place, k)) - peak.line(k);
        loss = target.weight * (log_sum.line(k) - x);
        mass = target.weight;
        if constexpr (kSmooth) {
          loss += call.share * call.weight_sum * log_sum.line(k) - sums[1].line(k);
          mass += call.share * call.weight_sum;
        }
      }
      call.write(position + k, loss, peak.line(k), log_sum.line(k), mass);
    }
  }
};

// dx = (p mass - what the target and smoothing weigh) grad, where p = softmax(x).
template <class T, bool kSmooth>
struct ClassLossBackward {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    typename View::Stat peak, log_sum, factor, share, counts, of_target;
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T* stats = call.stats(position + k);
      const Target<T> target(call, position + k);
      const T grad = call.grad(position + k);
      peak.line(k) = stats[0], log_sum.line(k) = stats[1];
      counts.line(k) = target.counts;
      factor.line(k) = target.counts ? grad * stats[2] : 0;
      share.line(k) = target.counts ? grad * call.share : 0;
      // A difference of numbers that may be close, so not of rounded ones.
      const T x = static_cast<T>(*view.at_line(0, target.place, k)) - peak.line(k);
      T dx = exp_below(splat(x - log_sum.line(k)))[0] * factor.line(k);
      if constexpr (kSmooth) dx -= call.weight[target.place] * share.line(k);
      of_target.line(k) = target.counts ? dx - grad * target.weight : 0;
    }
    view.each([&](const auto& at) {
      Vec<T> dx = exp_below((at.load(0) - peak[at]) - log_sum[at]) * factor[at];
      if constexpr (kSmooth) dx -= at.load_class(call.weight) * share[at];
      at.store(1, select(counts[at] != 0, dx, Vec<T>{}));
    });
    for (int64_t k = 0; k < view.lines(); ++k) {
      auto* const dx = view.at_line(1, Target<T>(call, position + k).place, k);
      *dx = std::remove_reference_t<decltype(*dx)>(of_target.line(k));
    }
  }
};

// Targets are probabilities. Streams x, target.
template <class T>
struct ProbabilityLoss {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    auto peak = largest<T>(view);
    typename View::Stat sums[3];
    view.reduce(sums, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[3]) {
      terms[0] = exp_below(at.load(0, kLowest<T>) - peak[at]);
      terms[1] = at.load_class(call.weight) * (at.load(1) * call.kept + call.share);
      terms[2] = terms[1] * (at.load(0) - peak[at]);
    });
    auto log_sum = sums[0].map([](Vec<T> v) { return log(v); });
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T mass = sums[1].line(k), loss = log_sum.line(k) * mass - sums[2].line(k);
      call.write(position + k, loss, peak.line(k), log_sum.line(k), mass);
    }
  }
};

template <class T>
struct ProbabilityLossBackward {
  using Args = CrossEntropyCall<T>;
  template <class View>
  static void apply(const View& view, const Args& call, int64_t position) {
    typename View::Stat peak, log_sum, factor, grad;
    for (int64_t k = 0; k < view.lines(); ++k) {
      const T* stats = call.stats(position + k);
      peak.line(k) = stats[0], log_sum.line(k) = stats[1];
      grad.line(k) = call.grad(position + k);
      factor.line(k) = grad.line(k) * stats[2];
    }
    view.each([&](const auto& at) {
      const Vec<T> mass = at.load_class(call.weight) * (at.load(1) * call.kept + call.share);
      at.store(2, exp_below((at.load(0) - peak[at]) - log_sum[at]) * factor[at] - mass * grad[at]);
    });
  }
};

template <template <class, bool> class OfClasses, template <class> class OfProbabilities>
void run_cross_entropy(const CrossEntropyArgs& args) {
  const auto run_in = [&](auto type) {
    using T = decltype(type);
    if (!args.classes)
      run<T, OfProbabilities<T>, true>(args);
    else if (args.smoothing != 0)
      run<T, OfClasses<T, true>, true>(args);
    else
      run<T, OfClasses<T, false>, true>(args);
  };
  args.lines.compute == DType::Float32 ? run_in(float{}) : run_in(double{});
}

}  // namespace

namespace TT_ISA {
extern const CrossEntropyTable cross_entropy_table = {
    run_cross_entropy<ClassLoss, ProbabilityLoss>,
    run_cross_entropy<ClassLossBackward, ProbabilityLossBackward>,
    nll,
    nll_backward,
    labels,
    average};
}

}  // namespace tt::cpu
