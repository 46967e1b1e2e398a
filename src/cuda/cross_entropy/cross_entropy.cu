// Cross-entropy: a line of classes by a warp or a block, which reads it once (infra/held.h). nll.h
// has the entries that take a thread per line.
#include "core/tables/cross_entropy.h"
#include "cuda/cross_entropy/nll.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/held.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

constexpr int kStats = 3;  // of a line: peak, log of the sum, mass

// What kernels take of CrossEntropyArgs.
template <class T>
struct Call {
  DeviceLines lines;
  const int64_t* classes;  // null: targets are probabilities
  const T* weight;
  int64_t ignore_index;
  T kept, share;  // of a target: what smoothing leaves it, what it gives to each class
  T *stats, *loss;
  const T *grad, *divisor;
  bool grad_per_line;

  __device__ bool counts(int64_t line) const { return !classes || classes[line] != ignore_index; }
  __device__ T weight_of(int64_t k) const { return weight ? weight[k] : T(1); }
  __device__ T grad_of(int64_t line) const {
    const T scale = divisor ? static_cast<T>(1 / static_cast<double>(*divisor)) : T(1);
    return grad[grad_per_line ? line : 0] * scale;
  }
};

// How much of each class a line's target has, after smoothing, times the class's weight.
template <class T>
class Masses {
 public:
  __device__ Masses(const Call<T>& call, int64_t line)
      : call_(call),
        probabilities_(call.lines, 1, line),
        target_(call.classes ? call.classes[line] : -1) {}

  // Others have none; they do not count, be they infinite.
  __device__ bool has(int64_t k) const {
    return !call_.classes || call_.share != 0 || k == target_;
  }
  __device__ T operator[](int64_t k) const {
    const T own = call_.classes ? static_cast<T>(k == target_) : probabilities_[k];
    return call_.weight_of(k) * (own * call_.kept + call_.share);
  }

 private:
  const Call<T>& call_;
  const Line<T> probabilities_;
  const int64_t target_;
};

// loss = sum over classes of mass (log sum exp x - x).
template <class T, int kLanes>
__global__ void cross_entropy_line(const Call<T> call) {
  using Team = Team<kLanes>;
  const int64_t line = Team::line();
  if (line >= call.lines.count) return;
  const Held<T, kLanes> x({call.lines, 0, line}, call.lines.size);
  const Masses<T> masses(call, line);
  T peak = -INFINITY;
  x.each([&](T value, int64_t) { peak = Larger()(value, peak); });
  peak = Team::max(peak);
  T sum = 0;
  x.each([&](T value, int64_t) { sum += exp(value - peak); });
  const T log_sum = log(Team::sum(sum));
  T loss = 0, mass = 0;
  x.each([&](T value, int64_t k) {
    if (!masses.has(k)) return;
    loss += masses[k] * (log_sum - (value - peak));
    mass += masses[k];
  });
  loss = Team::sum(loss);
  mass = Team::sum(mass);
  if (Team::lane() > 0) return;
  const bool counts = call.counts(line);
  T* const stats = call.stats + line * kStats;
  stats[0] = peak, stats[1] = log_sum, stats[2] = counts ? mass : T(0);
  call.loss[line] = counts ? loss : T(0);
}

// dx = (softmax(x) sum of masses - mass) grad.
template <class T, int kLanes>
__global__ void cross_entropy_line_backward(const Call<T> call) {
  using Team = Team<kLanes>;
  const int64_t line = Team::line();
  if (line >= call.lines.count) return;
  const Line<T> x(call.lines, 0, line), dx(call.lines, call.classes ? 1 : 2, line);
  const Masses<T> masses(call, line);
  const T* const stats = call.stats + line * kStats;
  const T peak = stats[0], log_sum = stats[1], grad = call.grad_of(line), factor = grad * stats[2];
  const bool counts = call.counts(line);
  for (int64_t k = Team::lane(); k < call.lines.size; k += kLanes) {
    T value = exp((x.floating(k) - peak) - log_sum) * factor;
    if (masses.has(k)) value -= masses[k] * grad;
    dx.set_floating(k, counts ? value : T(0));
  }
}

template <class T>
Call<T> call_of(const CrossEntropyArgs& a) {
  Call<T> call{};
  call.lines = on_device(a.lines);
  call.classes = a.classes;
  call.weight = numbers<T>(a.weight);
  call.ignore_index = a.ignore_index;
  call.kept = static_cast<T>(1 - a.smoothing);
  call.share = static_cast<T>(a.smoothing / static_cast<double>(a.lines.size));
  call.stats = numbers<T>(a.stats);
  call.loss = numbers<T>(a.loss);
  call.grad = numbers<T>(a.grad);
  call.divisor = numbers<T>(a.divisor);
  call.grad_per_line = a.grad_per_line;
  return call;
}
template <class T>
void forward(const CrossEntropyArgs& a) {
  if (!a.lines.size) return;
  with_team(a.lines.count, a.lines.size, [&](const Grid& grid, auto lanes) {
    launch<cross_entropy_line<T, lanes()>>(grid, call_of<T>(a));
  });
}
template <class T>
void backward(const CrossEntropyArgs& a) {
  if (!a.lines.size) return;
  with_team(a.lines.count, a.lines.size, [&](const Grid& grid, auto lanes) {
    launch<cross_entropy_line_backward<T, lanes()>>(grid, call_of<T>(a));
  });
}

void cross_entropy(const CrossEntropyArgs& a) {
  a.lines.compute == DType::Float32 ? forward<float>(a) : forward<double>(a);
}
void cross_entropy_backward(const CrossEntropyArgs& a) {
  a.lines.compute == DType::Float32 ? backward<float>(a) : backward<double>(a);
}

}  // namespace

const CrossEntropyTable cross_entropy_table = {
    cross_entropy, cross_entropy_backward, nll, nll_backward, labels, average};

}  // namespace tt::cuda
