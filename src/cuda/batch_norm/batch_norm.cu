// Batch, group and instance norm. Blocks find the sums of chunks of a set, which are added in
// order; then a thread per element finds its answer. Threads add a few elements each as Ts, whose
// sums go on in double.
#include "core/formulas/float_range.h"
#include "core/tables/batch_norm.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/divisor.h"
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
  int64_t samples, channels, size, set_channels, sets_of_sample;
  bool channels_last;
  int64_t x_sample, x_channel, grad_sample, grad_channel;
  WideDivisor by_size, by_channels, by_set_channels, by_sets_of_sample;

  explicit Sets(const BatchNormArgs& a)
      : samples(a.samples),
        channels(a.channels),
        size(a.size),
        set_channels(a.set_channels),
        sets_of_sample(a.set_channels ? a.channels / a.set_channels : 1),
        channels_last(a.channels_last),
        x_sample(a.x_sample),
        x_channel(a.x_channel),
        grad_sample(a.grad_sample),
        grad_channel(a.grad_channel),
        by_size(size),
        by_channels(channels),
        by_set_channels(set_channels),
        by_sets_of_sample(sets_of_sample) {}

  __device__ int64_t numel() const { return samples * channels * size; }
  TT_HOST_DEVICE bool is_per_channel() const { return set_channels == 0; }
  // A set has so many elements.
  TT_HOST_DEVICE int64_t elements() const {
    return (is_per_channel() ? samples : set_channels) * size;
  }
  __device__ Element in_set(int64_t set, int64_t i) const {
    int64_t row = by_size.quotient(i), pixel = i - row * size;
    if (is_per_channel()) return {row, set, pixel};
    if (channels_last) {  // neighbours in memory
      pixel = by_set_channels.quotient(i);
      row = i - pixel * set_channels;
    }
    const int64_t sample = by_sets_of_sample.quotient(set);
    return {sample, by_sets_of_sample.rest(set) * set_channels + row, pixel};
  }
  __device__ int64_t set_of(const Element& e) const {
    if (is_per_channel()) return e.channel;
    return e.sample * sets_of_sample + by_set_channels.quotient(e.channel);
  }
  // The i-th of the output's memory.
  __device__ Element at(int64_t i) const {
    if (channels_last) {
      const int64_t row = by_channels.quotient(i), sample = by_size.quotient(row);
      return {sample, i - row * channels, row - sample * size};
    }
    const int64_t row = by_size.quotient(i), sample = by_channels.quotient(row);
    return {sample, row - sample * channels, i - row * size};
  }
  __device__ int64_t offset(const Element& e, int64_t sample_step, int64_t channel_step) const {
    if (channels_last) return (e.sample * size + e.pixel) * channels + e.channel;
    return e.sample * sample_step + e.channel * channel_step + e.pixel;
  }
  // Of a channel whose pixels follow one another: the k-th from a sample's first on.
  __device__ int64_t next_to_others(int64_t sample, int64_t channel, int64_t k) const {
    return (sample * size + k) * channels + channel;
  }
  __device__ int64_t of_x(const Element& e) const { return offset(e, x_sample, x_channel); }
  __device__ int64_t of_grad(const Element& e) const {
    return offset(e, grad_sample, grad_channel);
  }
};

// The threads that add a chunk's elements, kEach each: a block, or where channels are neighbours in
// memory 8 of its threads, next to those that have the same pixels of the next channels.
constexpr int kEach = 16, kFew = 8;

template <int kTogether>
struct Adders {
  static constexpr int64_t kChunk = kEach * kTogether;
  static constexpr int kSide = kThreads / kTogether;  // chunks of a block

  static __device__ int side() { return threadIdx.x % kSide; }
  static __device__ int first() { return threadIdx.x / kSide; }
  static __device__ double sum(double value) {
    if constexpr (kSide == 1) {
      return sum_of_block(value);
    } else {
      __shared__ double all[kThreads];
      __syncthreads();  // those of an earlier call have been read
      all[threadIdx.x] = value;
      __syncthreads();
      value = all[side()];
      for (int i = 1; i < kTogether; ++i) value += all[i * kSide + side()];
      return value;
    }
  }
};

TT_HOST_DEVICE inline int64_t chunks_of(int64_t elements, int64_t chunk) {
  return elements > chunk ? (elements + chunk - 1) / chunk : 1;
}

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

// The mean of some elements, and the sum of their squared distances from it.
struct Moments {
  double mean, squares;
};

// Of a chunk, whose elements are read once.
template <class T, int kTogether>
__global__ void chunk_moments(const Sets sets, const int64_t count, const T* const x,
                              Moments* const found) {
  using Adders = Adders<kTogether>;
  const int64_t chunks = chunks_of(sets.elements(), Adders::kChunk), chunk = blockIdx.x % chunks;
  const int64_t set = blockIdx.x / chunks * Adders::kSide + Adders::side();
  const int64_t begin = chunk * Adders::kChunk, rest_of_set = sets.elements() - begin;
  const bool is_there = set < count;
  const int64_t left = !is_there ? 0 : rest_of_set < Adders::kChunk ? rest_of_set : Adders::kChunk;
  const double n = static_cast<double>(left);
  const auto offset = [&](int64_t k) {
    return Adders::kSide > 1 ? sets.next_to_others(0, set, k) : sets.of_x(sets.in_set(set, k));
  };
  T own[kEach], sum = 0;
  TT_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int64_t k = Adders::first() + i * kTogether;
    if (k < left) sum += own[i] = x[offset(begin + k)];
  }
  const auto each = [&](const auto& use) {
    TT_UNROLL
    for (int i = 0; i < kEach; ++i)
      if (Adders::first() + i * kTogether < left) use(own[i]);
  };
  double mean = Adders::sum(static_cast<double>(sum)) / n;
  const T middle = static_cast<T>(mean);
  T rest = 0, squares = 0;  // rest: what rounding has left of the mean
  each([&](T value) {
    const T distance = value - middle;
    rest += distance;
    squares += distance * distance;
  });
  const double moved = Adders::sum(static_cast<double>(rest)) / n;
  mean = static_cast<double>(middle) + moved;
  double all = Adders::sum(static_cast<double>(squares)) - moved * moved * n;
  const bool is_wrong = is_there && is_out_of_range(all / n);
  if (max_of_block(static_cast<int>(is_wrong))) {  // the same in double
    double exact = 0;
    each([&](T value) { exact += static_cast<double>(value); });
    const double middle = Adders::sum(exact) / n;
    exact = 0;
    each([&](T value) {
      const double distance = static_cast<double>(value) - middle;
      exact += distance * distance;
    });
    exact = Adders::sum(exact);
    if (is_wrong) mean = middle, all = exact;
  }
  if (Adders::first() == 0 && is_there) found[set * chunks + chunk] = {mean, all};
}

// Of a set, from those of its chunks (Chan et al. 1979).
template <class T>
__global__ void set_moments(const Sets sets, const int64_t chunk, const Moments* const found,
                            const double eps, const Stats<T> stats, double* const variances) {
  const int64_t set = blockIdx.x, elements = sets.elements();
  const int64_t chunks = chunks_of(elements, chunk);
  const Moments* const own = found + set * chunks;
  const double n = static_cast<double>(elements);
  const auto count = [&](int64_t k) {
    return static_cast<double>(k + 1 < chunks ? chunk : elements - k * chunk);
  };
  double mean = 0, squares = 0;
  for (int64_t k = threadIdx.x; k < chunks; k += kThreads) mean += count(k) / n * own[k].mean;
  mean = sum_of_block(mean);
  for (int64_t k = threadIdx.x; k < chunks; k += kThreads) {
    const double distance = own[k].mean - mean;
    squares += own[k].squares + count(k) * distance * distance;
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

// Entries: channels, or channels of each sample where sets are of one sample.
template <class T, int kTogether>
__global__ void chunk_sums(const Sets sets, const int64_t entries, const int64_t elements,
                           const T* const x, const T* const grad, const Stats<T> stats,
                           Sums* const sums) {
  using Adders = Adders<kTogether>;
  const int64_t chunks = chunks_of(elements, Adders::kChunk), chunk = blockIdx.x % chunks;
  const int64_t entry = blockIdx.x / chunks * Adders::kSide + Adders::side();
  const bool is_there = entry < entries;
  const int64_t sample = is_there ? sets.by_channels.quotient(entry) : 0;
  const int64_t channel = is_there ? entry - sample * sets.channels : 0;
  const int64_t set = sets.set_of({sample, channel, 0});
  const T rstd = stats.rstds[set];
  T sum = 0, moment = 0;
  for (int i = 0; i < kEach && is_there; ++i) {
    const int64_t k = chunk * Adders::kChunk + Adders::first() + i * kTogether;
    if (k >= elements) break;
    const int64_t row = sets.by_size.quotient(k);
    const Element e{sample + row, channel, k - row * sets.size};
    const int64_t next = sets.next_to_others(sample, channel, k);
    const T g = grad[Adders::kSide > 1 ? next : sets.of_grad(e)];
    sum += g;
    moment += g * (stats.distance(x[Adders::kSide > 1 ? next : sets.of_x(e)], set) * rstd);
  }
  const double all = Adders::sum(static_cast<double>(sum));
  const double of_moments = Adders::sum(static_cast<double>(moment));
  if (Adders::first() == 0 && is_there) sums[entry * chunks + chunk] = {all, of_moments};
}

// An entry's sums, from those of its chunks: to the first of them.
__global__ void add_chunks(const int64_t chunks, Sums* const sums) {
  Sums* const own = sums + blockIdx.x * chunks;
  Sums all{0, 0};
  for (int64_t k = threadIdx.x; k < chunks; k += kThreads) {
    all.sum += own[k].sum;
    all.moment += own[k].moment;
  }
  all = {sum_of_block(all.sum), sum_of_block(all.moment)};
  if (threadIdx.x == 0) own[0] = all;
}

// What each element of a set gets of all of them: shift + slope x'.
template <class T>
struct Correction {
  T shift, slope;
};

// A set's sums are its channels' sums, times their weights.
template <class T>
__global__ void set_corrections(const Sets sets, const int64_t count, const int64_t chunks,
                                const Sums* const sums, const T* const weight, const T* const rstds,
                                Correction<T>* const corrections) {
  const int64_t set = thread_index();
  if (set >= count) return;
  const int64_t together = sets.is_per_channel() ? 1 : sets.set_channels;
  Sums all{0, 0};
  for (int64_t k = set * together; k < (set + 1) * together; ++k) {
    const double w = weight ? static_cast<double>(weight[k % sets.channels]) : 1;
    all.sum += w * sums[k * chunks].sum;
    all.moment += w * sums[k * chunks].moment;
  }
  const double n = static_cast<double>(sets.elements()), rstd = static_cast<double>(rstds[set]);
  corrections[set] = {static_cast<T>(all.sum / n * rstd), static_cast<T>(all.moment / n * rstd)};
}

// dx = (grad weight - mean(grad weight) - x' mean(grad weight x')) rstd; the means are 0 where the
// statistics are constants (no `corrections`).
template <class T>
__global__ void normalize_backward(const Sets sets, const T* const x, const T* const grad,
                                   const Stats<T> stats, const T* const weight,
                                   const Correction<T>* const corrections, T* const dx) {
  const int64_t i = thread_index();
  if (i >= sets.numel()) return;
  const Element e = sets.at(i);
  const int64_t set = sets.set_of(e);
  const T rstd = stats.rstds[set];
  T value = grad[sets.of_grad(e)] * (weight ? weight[e.channel] * rstd : rstd);
  if (corrections) {
    const T scaled = stats.distance(x[sets.of_x(e)], set) * rstd;
    value = value - corrections[set].shift - corrections[set].slope * scaled;
  }
  dx[i] = value;
}

template <class T>
__global__ void weight_gradients(const Sets sets, const int64_t entries, const int64_t chunks,
                                 const Sums* const sums, T* const weight_grad, T* const bias_grad) {
  const int64_t channel = thread_index();
  if (channel >= sets.channels) return;
  double weight = 0, bias = 0;
  for (int64_t k = channel; k < entries; k += sets.channels) {
    weight += sums[k * chunks].moment;
    bias += sums[k * chunks].sum;
  }
  weight_grad[channel] = static_cast<T>(weight);
  bias_grad[channel] = static_cast<T>(bias);
}

// ---- the calls ----------------------------------------------------------------------------------

int64_t count_of(const BatchNormArgs& a) {
  return a.set_channels ? a.samples * (a.channels / a.set_channels) : a.channels;
}

// Calls run(kTogether) with it as a type of a constant.
template <class Run>
void with_adders(bool side_by_side, const Run& run) {
  if (side_by_side)
    run(std::integral_constant<int, kFew>{});
  else
    run(std::integral_constant<int, kThreads>{});
}

template <class T>
void forward(const BatchNormArgs& a) {
  const Sets sets(a);
  const Stats<T> stats(a);
  const T* const x = numbers<T>(a.x);
  if (!a.fixed) {
    with_adders(a.channels_last && sets.is_per_channel(), [&](auto together) {
      using Adders = Adders<together()>;
      const int64_t count = count_of(a), chunks = chunks_of(sets.elements(), Adders::kChunk);
      const Scratch<Moments> found(count * chunks);
      launch<chunk_moments<T, together()>>({ceil_div(count, Adders::kSide) * chunks, kThreads},
                                           sets, count, x, found.data());
      launch<set_moments<T>>({count, kThreads}, sets, Adders::kChunk, found.data(), a.eps, stats,
                             numbers<double>(a.variance));
    });
  }
  launch<normalize<T>>(grid_of(a.samples * a.channels * a.size), sets, x, stats,
                       numbers<T>(a.weight), numbers<T>(a.bias), numbers<T>(a.out));
}

template <class T>
void backward(const BatchNormArgs& a) {
  const Sets sets(a);
  const Stats<T> stats(a);
  const T *const x = numbers<T>(a.x), *const grad = numbers<T>(a.grad);
  const T* const weight = numbers<T>(a.weight);
  const int64_t count = count_of(a), entries = (a.set_channels ? a.samples : 1) * a.channels;
  const int64_t elements = (a.set_channels ? 1 : a.samples) * a.size;  // of an entry
  const int64_t chunks = chunks_of(elements, kEach * (a.channels_last ? kFew : kThreads));
  const Scratch<Sums> sums(entries * chunks);
  with_adders(a.channels_last, [&](auto together) {
    const int64_t blocks = ceil_div(entries, Adders<together()>::kSide) * chunks;
    launch<chunk_sums<T, together()>>({blocks, kThreads}, sets, entries, elements, x, grad, stats,
                                      sums.data());
  });
  if (chunks > 1) launch<add_chunks>({entries, kThreads}, chunks, sums.data());
  launch<weight_gradients<T>>(grid_of(a.channels), sets, entries, chunks, sums.data(),
                              numbers<T>(a.weight_grad), numbers<T>(a.bias_grad));
  if (!a.out) return;
  const Scratch<Correction<T>> corrections(a.fixed ? 0 : count);
  if (!a.fixed)
    launch<set_corrections<T>>(grid_of(count), sets, count, chunks, sums.data(), weight,
                               stats.rstds, corrections.data());
  launch<normalize_backward<T>>(grid_of(a.samples * a.channels * a.size), sets, x, grad, stats,
                                weight, corrections.data(), numbers<T>(a.out));
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

const BatchNormTable batch_norm_table = {{forward<float>, forward<double>},
                                         {backward<float>, backward<double>},
                                         running_update,
                                         running_read};

}  // namespace tt::cuda
