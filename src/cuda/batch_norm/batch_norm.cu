// Batch, group and instance norm: a block per set finds its mean and variance, a thread per element
// its answer. Sums are in double.
#include "core/tables/batch_norm.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// ---- where elements are -------------------------------------------------------------------------

struct Element {
  int64_t sample, channel, pixel;
};

// Runs of elements that have one sum: of a set, or of a channel of a set.
struct Sets {
  int64_t samples, channels, size, set_channels;
  bool channels_last;
  int64_t x_sample, x_channel, grad_sample, grad_channel;

  __device__ int64_t numel() const { return samples * channels * size; }
  __device__ int64_t sets_of_sample() const { return channels / set_channels; }
  __device__ bool is_per_channel() const { return set_channels == 0; }
  // A set has so many elements.
  __device__ int64_t elements() const { return (is_per_channel() ? samples : set_channels) * size; }
  __device__ Element in_set(int64_t set, int64_t i) const {
    if (is_per_channel()) return {i / size, set, i % size};
    const int64_t first = set % sets_of_sample() * set_channels;
    return {set / sets_of_sample(), first + i / size, i % size};
  }
  __device__ int64_t set_of(const Element& e) const {
    return is_per_channel() ? e.channel : e.sample * sets_of_sample() + e.channel / set_channels;
  }
  // The i-th of the output's memory.
  __device__ Element at(int64_t i) const {
    if (channels_last) return {i / channels / size, i % channels, i / channels % size};
    return {i / size / channels, i / size % channels, i % size};
  }
  __device__ int64_t offset(const Element& e, int64_t sample_step, int64_t channel_step) const {
    if (channels_last) return (e.sample * size + e.pixel) * channels + e.channel;
    return e.sample * sample_step + e.channel * channel_step + e.pixel;
  }
  __device__ int64_t of_x(const Element& e) const { return offset(e, x_sample, x_channel); }
  __device__ int64_t of_grad(const Element& e) const {
    return offset(e, grad_sample, grad_channel);
  }
};

// ---- forward ------------------------------------------------------------------------------------

// Of each set: the mean, what that lacks of the true one (no memory: nothing), 1 / sqrt(variance +
// eps).
template <class T>
struct Stats {
  T *means, *rests, *rstds;

  explicit Stats(const BatchNormArgs& a)
      : means(numbers<T>(a.mean)), rests(numbers<T>(a.rest)), rstds(numbers<T>(a.rstd)) {}
  __device__ T distance(const T x, const int64_t set) const {
    return rests ? x - means[set] - rests[set] : x - means[set];
  }
};

template <class T>
__global__ void moments(const Sets sets, const T* const x, const double eps, const Stats<T> stats,
                        double* const variances) {
  const int64_t set = blockIdx.x, elements = sets.elements();
  const double n = static_cast<double>(elements);
  double sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < elements; i += kThreads)
    sum += static_cast<double>(x[sets.of_x(sets.in_set(set, i))]);
  const double mean = sum_of_block(sum) / n;
  for (int64_t i = threadIdx.x; i < elements; i += kThreads) {
    const double distance = static_cast<double>(x[sets.of_x(sets.in_set(set, i))]) - mean;
    squares += distance * distance;
  }
  const double variance = sum_of_block(squares) / n;
  if (threadIdx.x > 0) return;
  stats.means[set] = static_cast<T>(mean);
  stats.rests[set] = static_cast<T>(mean - static_cast<double>(stats.means[set]));
  stats.rstds[set] = static_cast<T>(1 / sqrt(variance + eps));
  variances[set] = variance;
}

template <class T>
__global__ void normalize(const Sets sets, const T* const x, const Stats<T> stats,
                          const T* const weight, const T* const bias, T* const y) {
  const int64_t i = thread_index();
  if (i >= sets.numel()) return;
  const Element e = sets.at(i);
  const int64_t set = sets.set_of(e);
  const T scale = weight ? stats.rstds[set] * weight[e.channel] : stats.rstds[set];
  y[i] = stats.distance(x[sets.of_x(e)], set) * scale + (bias ? bias[e.channel] : T(0));
}

// ---- backward -----------------------------------------------------------------------------------

// Sums of grad, and of grad x', where x' = (x - mean) rstd.
struct Sums {
  double sum, moment;
};

// A block per channel, or per sample and channel where sets are of one sample.
template <class T>
__global__ void gradient_sums(const Sets sets, const T* const x, const T* const grad,
                              const Stats<T> stats, Sums* const sums) {
  const int64_t channel = blockIdx.x % sets.channels, sample = blockIdx.x / sets.channels;
  const int64_t n = sets.is_per_channel() ? sets.samples * sets.size : sets.size;
  double sum = 0, moment = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const Element e{sample + i / sets.size, channel, i % sets.size};
    const T g = grad[sets.of_grad(e)];
    sum += static_cast<double>(g);
    const int64_t set = sets.set_of(e);
    moment += static_cast<double>(g * (stats.distance(x[sets.of_x(e)], set) * stats.rstds[set]));
  }
  sum = sum_of_block(sum);
  moment = sum_of_block(moment);
  if (threadIdx.x == 0) sums[blockIdx.x] = {sum, moment};
}

// A set's sums are its channels' sums, times their weights.
template <class T>
__global__ void add_channels(const Sets sets, const int64_t count, const Sums* const sums,
                             const T* const weight, Sums* const of_sets) {
  const int64_t set = thread_index();
  if (set >= count) return;
  const int64_t together = sets.is_per_channel() ? 1 : sets.set_channels;
  Sums all{0, 0};
  for (int64_t k = set * together; k < (set + 1) * together; ++k) {
    const double w = weight ? static_cast<double>(weight[k % sets.channels]) : 1;
    all.sum += w * sums[k].sum;
    all.moment += w * sums[k].moment;
  }
  of_sets[set] = all;
}

// dx = (grad weight - mean(grad weight) - x' mean(grad weight x')) rstd; the means are 0 where the
// statistics are constants.
template <class T>
__global__ void normalize_backward(const Sets sets, const T* const x, const T* const grad,
                                   const Stats<T> stats, const T* const weight,
                                   const Sums* const of_sets, const bool fixed, T* const dx) {
  const int64_t i = thread_index();
  if (i >= sets.numel()) return;
  const Element e = sets.at(i);
  const int64_t set = sets.set_of(e);
  const T rstd = stats.rstds[set];
  T value = grad[sets.of_grad(e)] * (weight ? weight[e.channel] * rstd : rstd);
  if (!fixed) {
    const double n = static_cast<double>(sets.elements());
    value -= static_cast<T>(of_sets[set].sum / n * rstd);
    value -= static_cast<T>(of_sets[set].moment / n * rstd) *
             (stats.distance(x[sets.of_x(e)], set) * rstd);
  }
  dx[i] = value;
}

template <class T>
__global__ void weight_gradients(const Sets sets, const int64_t entries, const Sums* const sums,
                                 T* const weight_grad, T* const bias_grad) {
  const int64_t channel = thread_index();
  if (channel >= sets.channels) return;
  double weight = 0, bias = 0;
  for (int64_t k = channel; k < entries; k += sets.channels) {
    weight += sums[k].moment;
    bias += sums[k].sum;
  }
  weight_grad[channel] = static_cast<T>(weight);
  bias_grad[channel] = static_cast<T>(bias);
}

// ---- the calls ----------------------------------------------------------------------------------

Sets sets_of(const BatchNormArgs& a) {
  return {a.samples,  a.channels,  a.size,        a.set_channels, a.channels_last,
          a.x_sample, a.x_channel, a.grad_sample, a.grad_channel};
}
int64_t count_of(const BatchNormArgs& a) {
  return a.set_channels ? a.samples * (a.channels / a.set_channels) : a.channels;
}
Grid blocks(int64_t count) { return {count, kThreads}; }

template <class T>
void forward(const BatchNormArgs& a) {
  const Sets sets = sets_of(a);
  const Stats<T> stats(a);
  const T* const x = numbers<T>(a.x);
  if (!a.fixed)
    launch<moments<T>>(blocks(count_of(a)), sets, x, a.eps, stats, numbers<double>(a.variance));
  launch<normalize<T>>(grid_of(a.samples * a.channels * a.size), sets, x, stats,
                       numbers<T>(a.weight), numbers<T>(a.bias), numbers<T>(a.out));
}

template <class T>
void backward(const BatchNormArgs& a) {
  const Sets sets = sets_of(a);
  const Stats<T> stats(a);
  const T *const x = numbers<T>(a.x), *const grad = numbers<T>(a.grad);
  const T* const weight = numbers<T>(a.weight);
  const int64_t count = count_of(a), entries = (a.set_channels ? a.samples : 1) * a.channels;
  const Scratch<Sums> sums(entries), of_sets(count);
  launch<gradient_sums<T>>(blocks(entries), sets, x, grad, stats, sums.data());
  launch<weight_gradients<T>>(grid_of(a.channels), sets, entries, sums.data(),
                              numbers<T>(a.weight_grad), numbers<T>(a.bias_grad));
  if (!a.out) return;
  launch<add_channels<T>>(grid_of(count), sets, count, sums.data(), weight, of_sets.data());
  launch<normalize_backward<T>>(grid_of(a.samples * a.channels * a.size), sets, x, grad, stats,
                                weight, of_sets.data(), a.fixed, numbers<T>(a.out));
}

void batch_norm(const BatchNormArgs& a) {
  a.compute == DType::Float32 ? forward<float>(a) : forward<double>(a);
}
void batch_norm_backward(const BatchNormArgs& a) {
  a.compute == DType::Float32 ? backward<float>(a) : backward<double>(a);
}

// ---- running statistics: a thread per channel ---------------------------------------------------

__device__ char* place(const RunningArgs::Running& running, int64_t channel) {
  return running.data + channel * running.step * static_cast<int64_t>(itemsize(running.dtype));
}

// running = (1 - momentum) running + momentum batch, where batch is the mean over samples of `sets`
// times numerator / denominator.
__global__ void update_running(const RunningArgs a, const RunningArgs::Running running,
                               const char* const sets, const DType dtype, const double numerator,
                               const double denominator) {
  const int64_t channel = thread_index();
  if (channel >= a.channels) return;
  const auto size = static_cast<int64_t>(itemsize(dtype));
  double sum = 0;
  for (int64_t i = 0; i < a.samples; ++i)
    sum += load_as<double>(sets + (i * a.channels + channel) * size, dtype);
  const double batch = sum / static_cast<double>(a.samples) * numerator / denominator;
  char* const at = place(running, channel);
  const double before = load_as<double>(at, running.dtype);
  store_as<double>(at, running.dtype, (1 - a.momentum) * before + a.momentum * batch);
}
void running_update(const RunningArgs& a) {
  const Grid grid = grid_of(a.channels);
  if (a.running_mean.data)
    launch<update_running>(grid, a, a.running_mean, a.mean, a.compute, 1.0, 1.0);
  if (a.running_var.data)
    launch<update_running>(grid, a, a.running_var, a.variance, DType::Float64, a.elements,
                           a.elements - 1);
}

__global__ void read_running(const RunningArgs a) {
  const int64_t channel = thread_index();
  if (channel >= a.channels) return;
  const auto size = static_cast<int64_t>(itemsize(a.compute));
  const double mean = load_as<double>(place(a.running_mean, channel), a.running_mean.dtype);
  const double variance = load_as<double>(place(a.running_var, channel), a.running_var.dtype);
  store_as<double>(a.mean + channel * size, a.compute, mean);
  store_as<double>(a.rstd + channel * size, a.compute, 1 / sqrt(variance + a.eps));
}
void running_read(const RunningArgs& a) { launch<read_running>(grid_of(a.channels), a); }

}  // namespace

const BatchNormTable batch_norm_table = {batch_norm, batch_norm_backward, running_update,
                                         running_read};

}  // namespace tt::cuda
