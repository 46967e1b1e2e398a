// The negative log-likelihood of classes, and what it shares with cross-entropy: the check of
// labels, and the mean by the weights of those that count.
#include "cuda/cross_entropy/nll.h"
#include "cuda/infra/faults.h"
#include "cuda/infra/fold.h"
#include "cuda/infra/operands.h"

namespace tt::cuda {
namespace {

__global__ void find_outside(const LabelArgs a, Fault* const outside) {
  const int64_t i = thread_index();
  if (i >= a.count) return;
  const int64_t label = a.labels[i];
  if (!is_inside(label, a.classes) && label != a.except) tell(outside, label, a.classes);
}

// What kernels take of CrossEntropyArgs.
template <class T>
struct NllCall {
  DeviceLines lines;
  const int64_t* classes;
  const T* weight;
  int64_t ignore_index;
  T* loss;
  const T *grad, *divisor;
  bool grad_per_line;

  __device__ bool counts(int64_t line) const {
    return classes[line] != ignore_index && is_inside(classes[line], lines.size);
  }
  __device__ T weight_of(int64_t line) const { return weight ? weight[classes[line]] : T(1); }
};

template <class T>
__global__ void nll_line(const NllCall<T> call) {
  const int64_t i = thread_index();
  if (i >= call.lines.count) return;
  const int64_t target = call.classes[i];
  call.loss[i] = call.counts(i) ? -Line<T>(call.lines, 0, i)[target] * call.weight_of(i) : T(0);
}

template <class T>
__global__ void nll_line_backward(const NllCall<T> call) {
  const int64_t i = thread_index();
  if (i >= call.lines.count || !call.counts(i)) return;
  const T scale = call.divisor ? 1 / *call.divisor : T(1);
  const T value = -call.grad[call.grad_per_line ? i : 0] * scale * call.weight_of(i);
  Line<T>(call.lines, 0, i).set(call.classes[i], value);
}

template <class T>
NllCall<T> call_of(const CrossEntropyArgs& a) {
  return {on_device(a.lines), a.classes,          numbers<T>(a.weight),  a.ignore_index,
          numbers<T>(a.loss), numbers<T>(a.grad), numbers<T>(a.divisor), a.grad_per_line};
}

// The sum of the losses, and what a mean divides it by: both at once.
template <class T>
struct Average {
  struct State {
    double sum, divisor;
  };
  DivisorArgs by;
  bool mean;
  T* divisor;
  DType dtype;
  char* out;  // or null

  __device__ State init() const { return {0, 0}; }
  __device__ State step(State s, const char* loss, DType of, int64_t line) const {
    double weight = 1;
    if (by.classes) {
      const int64_t target = by.classes[line];
      const T* const weights = reinterpret_cast<const T*>(by.weight);
      if (target == by.ignore_index || !is_inside(target, by.class_count))
        weight = 0;
      else if (weights)
        weight = static_cast<double>(weights[target]);
    }
    return {s.sum + load_as<double>(loss, of), s.divisor + weight};
  }
  __device__ State combine(State s, State t) const {
    return {s.sum + t.sum, s.divisor + t.divisor};
  }
  __device__ void finish(State s, int64_t) const {
    *divisor = static_cast<T>(s.divisor);
    if (out) store_as<double>(out, dtype, mean ? s.sum / s.divisor : s.sum);
  }
};

template <class T>
void average_as(const AverageArgs& a) {
  const Average<T> op{a.by, a.mean, numbers<T>(a.divisor), a.dtype, a.out};
  run_fold(op, folded_line(a.losses, a.compute, a.by.lines));
}

}  // namespace

void nll(const CrossEntropyArgs& a) {
  if (a.lines.compute == DType::Float32)
    launch<nll_line<float>>(grid_of(a.lines.count), call_of<float>(a));
  else
    launch<nll_line<double>>(grid_of(a.lines.count), call_of<double>(a));
}
void nll_backward(const CrossEntropyArgs& a) {
  if (a.lines.compute == DType::Float32)
    launch<nll_line_backward<float>>(grid_of(a.lines.count), call_of<float>(a));
  else
    launch<nll_line_backward<double>>(grid_of(a.lines.count), call_of<double>(a));
}

bool labels(const LabelArgs& a) {
  const Faults outside(Check::Classes);
  launch<find_outside>(grid_of(a.count), a, outside.found());
  return outside.none();
}

void average(const AverageArgs& a) {
  a.compute == DType::Float32 ? average_as<float>(a) : average_as<double>(a);
}

}  // namespace tt::cuda
