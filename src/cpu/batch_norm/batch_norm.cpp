// Batch, group and instance norm: the mean and variance of sets of elements of x (N, C, S), then
// each element's answer. Built once per instruction set.
//
// Where S is contiguous and not small, a set is a number of planes of S elements, read twice while
// it is in the second cache; else see columns.h. Within a block of kBlock elements,
// which the first cache holds, the mean is found before the squares are summed; blocks combine in
// double. How all is cut follows from shape and layout alone.
#include "cpu/batch_norm/columns.h"

namespace tt::cpu {
namespace {

template <class S>
struct Planes {
  const S *x, *grad;
  int64_t count, x_step, grad_step;  // how many, and how far apart
  int64_t size;

  Planes part(int64_t first, int64_t n, int64_t from, int64_t length) const {
    return {x + first * x_step + from,
            grad ? grad + first * grad_step + from : nullptr,
            n,
            x_step,
            grad_step,
            length};
  }
};

// The sums of f(terms, memory, x, grad) over some planes, of kSums terms each.
template <class S, int kSums, class F>
void sum_planes(const Planes<S>& planes, double (&totals)[kSums], F f) {
  using T = Computed<S>;
  constexpr int kChains = 4;
  Vec<T> acc[kChains][kSums] = {};
  auto step = [&](int chain, const S* x, const S* grad, auto memory) {
    Vec<T> terms[kSums];
    f(terms, memory, x, grad);
    for (int s = 0; s < kSums; ++s) acc[chain][s] += terms[s];
  };
  for (int64_t p = 0; p < planes.count; ++p) {
    const S* x = planes.x + p * planes.x_step;
    const S* grad = planes.grad + p * planes.grad_step;
    int64_t i = 0;
    for (; i + kChains * lanes<T> <= planes.size; i += kChains * lanes<T>)
      for (int c = 0; c < kChains; ++c)
        step(c, x + i + c * lanes<T>, grad + i + c * lanes<T>, Whole<T>());
    for (; i + lanes<T> <= planes.size; i += lanes<T>) step(0, x + i, grad + i, Whole<T>());
    if (i < planes.size) step(1, x + i, grad + i, Front<T>(planes.size - i));
  }
  for (int s = 0; s < kSums; ++s)
    totals[s] = static_cast<double>(
        fold<T, kVectorBytes>((acc[0][s] + acc[1][s]) + (acc[2][s] + acc[3][s]), Plus()));
}

// Calls f(planes) for blocks of about kBlock elements.
template <class S, class F>
void for_each_block(const Planes<S>& planes, F f) {
  if (planes.size == 0) return;
  const int64_t cuts = blocks(planes.size, kBlock), length = blocks(planes.size, cuts);
  const int64_t together = larger(1, kBlock / planes.size);
  for (int64_t p = 0; p < planes.count; p += together)
    for (int64_t from = 0; from < planes.size; from += length)
      f(planes.part(p, smaller(together, planes.count - p), from,
                    smaller(length, planes.size - from)));
}

struct Moments {
  double count = 0, mean = 0, squares = 0;  // of distances from the mean
  double sum = 0;

  void merge(double n, double other_mean, double other_squares) {
    const double distance = other_mean - mean, total = count + n;
    mean += distance * (n / total);
    squares += other_squares + distance * distance * (count * n / total);
    count = total;
  }
};

template <class S>
Moments moments_of(const Planes<S>& planes) {
  using T = Computed<S>;
  Moments moments;
  for_each_block(planes, [&](const Planes<S>& block) {
    const double n = static_cast<double>(block.count * block.size);
    double sum[1], rest[2];
    sum_planes(block, sum, [](Vec<T>(&terms)[1], auto memory, const S* x, const S*) {
      terms[0] = memory.load(x);
    });
    const T mean = static_cast<T>(sum[0] / n);
    sum_planes(block, rest, [mean](Vec<T>(&terms)[2], auto memory, const S* x, const S*) {
      terms[0] = memory.load(x, mean) - mean;
      terms[1] = terms[0] * terms[0];
    });
    moments.merge(n, mean + rest[0] / n, rest[1] - rest[0] * rest[0] / n);
    moments.sum += sum[0];
  });
  // An infinity has no distance from itself, but a mean.
  if (moments.mean != moments.mean) moments.mean = moments.sum / moments.count;
  return moments;
}

template <class S, class T>
GradientSums gradient_sums(const Planes<S>& planes, T mean, T rstd) {
  GradientSums totals;
  for_each_block(planes, [&](const Planes<S>& block) {
    double sums[2];
    sum_planes(block, sums, [=](Vec<T>(&terms)[2], auto memory, const S* x, const S* grad) {
      terms[0] = memory.load(grad);
      terms[1] = terms[0] * ((memory.load(x) - mean) * rstd);
    });
    totals.add(1, {sums[0], sums[1]});
  });
  return totals;
}

// The channel and the place in the output of a set's plane p.
template <class S>
int64_t channel_of(const Call<S>& call, int64_t set, int64_t p) {
  return call.per_channel ? set : set % call.sets_of_sample * call.together + p;
}
template <class S>
S* output_of(const Call<S>& call, int64_t set, int64_t p) {
  const BatchNormArgs& a = call.a;
  const int64_t plane = call.per_channel ? p * a.channels + set : set * call.together + p;
  return numbers<S>(a.out) + plane * a.size;
}
// The planes of a set.
template <class S>
Planes<S> planes_of(const Call<S>& call, int64_t set) {
  const BatchNormArgs& a = call.a;
  const bool whole = call.per_channel;  // the planes of all samples
  const int64_t sample = whole ? 0 : set / call.sets_of_sample, channel = channel_of(call, set, 0);
  const S *x = numbers<S>(a.x), *grad = numbers<S>(a.grad);
  return {x + sample * a.x_sample + channel * a.x_channel,
          grad ? grad + sample * a.grad_sample + channel * a.grad_channel : nullptr,
          whole ? a.samples : call.together,
          whole ? a.x_sample : a.x_channel,
          whole ? a.grad_sample : a.grad_channel,
          a.size};
}

// Sets of one sample that are short and lie one after the other are summed several at a time, as
// rows: their sums do not wait for each other.
template <class S>
bool takes_rows(const Call<S>& call) {
  const BatchNormArgs& a = call.a;
  const bool packed = a.x_channel == a.size && a.x_sample == a.channels * a.size;
  const bool as_grad = !a.grad || (a.grad_channel == a.size && a.grad_sample == a.x_sample);
  return !call.per_channel && packed && as_grad && call.elements <= 512;
}

// Sets that are worth a thread: of short ones fewer elements, for each set costs as much as many.
template <class S>
int64_t grain_of(const Call<S>& call) {
  return (takes_rows(call) ? kGrain / 4 : kGrain) / larger(1, call.elements);
}

// The statistics of sets [begin, end).
template <class S>
void find_moments(const Call<S>& call, int64_t begin, int64_t end) {
  using T = Computed<S>;
  if (!takes_rows(call)) {
    for (int64_t set = begin; set < end; ++set) {
      Planes<S> merged = planes_of(call, set);
      if (merged.x_step == merged.size) merged.size *= merged.count, merged.count = 1;
      const Moments moments = moments_of(merged);
      call.finish(set, moments.mean, moments.squares);
    }
    return;
  }
  const double n = static_cast<double>(call.elements);
  const int64_t step = call.elements * static_cast<int64_t>(sizeof(S)), steps[3] = {step};
  for (; begin < end; begin += Rows<S>::kMost) {
    char* const data[3] = {const_cast<char*>(call.a.x) + begin * step};
    const Rows<S> rows{data, steps, call.elements, smaller(Rows<S>::kMost, end - begin)};
    typename Rows<S>::Stat sum[1], rest[2];
    rows.reduce(sum, T(0), Plus(), [](const auto& at, Vec<T>(&term)[1]) { term[0] = at.load(0); });
    const auto mean = sum[0].map([=](Vec<T> v) { return v / static_cast<T>(n); });
    rows.reduce(rest, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[2]) {
      terms[0] = at.load(0, mean.line(at.number)) - mean[at];
      terms[1] = terms[0] * terms[0];
    });
    for (int64_t k = 0; k < rows.count; ++k) {
      const double far = static_cast<double>(rest[0].line(k)) / n, near = mean.line(k);
      const double squares = static_cast<double>(rest[1].line(k)) - far * far * n;
      call.finish(begin + k, far == far ? near + far : near, squares);
    }
  }
}

template <class S>
void forward_sets(const Call<S>& call, int64_t begin, int64_t end) {
  using T = Computed<S>;
  // A set is written while it is in the cache; short ones are, 16 of them.
  const int64_t together = takes_rows(call) ? Rows<S>::kMost : 1;
  for (int64_t first = begin; first < end; first += together) {
    const int64_t last = smaller(first + together, end);
    if (!call.a.fixed) find_moments(call, first, last);
    for (int64_t set = first; set < last; ++set) {
      const Planes<S> planes = planes_of(call, set);
      const T mean = call.means[set];
      for (int64_t p = 0; p < planes.count; ++p) {
        const int64_t channel = channel_of(call, set, p);
        const T scale = call.rstds[set] * call.weight(channel);
        const T shift = call.shift(channel, set, scale);
        const S* x = planes.x + p * planes.x_step;
        S* const y = output_of(call, set, p);
        for_each_vector<T>(0, planes.size, [=](int64_t i, auto memory) {
          const Vec<T> distance = memory.load(x + i) - mean;
          memory.store(y + i, multiply_add(distance, scale, shift));
        });
      }
    }
  }
}

// Calls f(rows, first) for the planes of sets [begin, end), which are rows: streams x, grad, out.
// `first`: the number of the first plane.
template <class S, class F>
void for_each_plane_row(const Call<S>& call, int64_t begin, int64_t end, F f) {
  const int64_t step = call.a.size * static_cast<int64_t>(sizeof(S));
  const int64_t steps[3] = {step, step, step};
  char *const x = const_cast<char*>(call.a.x), *const grad = const_cast<char*>(call.a.grad);
  char* const out = call.a.out ? call.a.out : grad;  // which then is not written
  const int64_t last = end * call.together;
  for (int64_t first = begin * call.together; first < last; first += Rows<S>::kMost) {
    char* const data[3] = {x + first * step, grad + first * step, out + first * step};
    f(Rows<S>{data, steps, call.a.size, smaller(Rows<S>::kMost, last - first)}, first);
  }
}

// `sums`: per plane. For up to Rows<S>::kMost sets of which takes_rows() is true.
template <class S>
void backward_rows(const Call<S>& call, int64_t begin, int64_t end, GradientSums* sums) {
  using T = Computed<S>;
  const BatchNormArgs& a = call.a;
  int64_t set = begin, p = 0;  // of the next plane: its set, and its number in that
  auto next_plane = [&] {
    if (++p == call.together) p = 0, ++set;
  };
  for_each_plane_row(call, begin, end, [&](const Rows<S>& rows, int64_t first) {
    typename Rows<S>::Stat mean, rstd, totals[2];
    for (int64_t k = 0; k < rows.count; ++k, next_plane())
      mean.line(k) = call.means[set], rstd.line(k) = call.rstds[set];
    rows.reduce(totals, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[2]) {
      terms[0] = at.load(1);
      terms[1] = terms[0] * ((at.load(0) - mean[at]) * rstd[at]);
    });
    for (int64_t k = 0; k < rows.count; ++k)
      sums[first + k] = {static_cast<double>(totals[0].line(k)),
                         static_cast<double>(totals[1].line(k))};
  });
  T slopes[Rows<S>::kMost], middles[Rows<S>::kMost];
  for (set = begin; set < end; ++set) {
    GradientSums all;
    for (p = 0; p < call.together; ++p) {
      GradientSums& of_plane = sums[set * call.together + p];
      of_plane = of_plane.centred(call, set);
      all.add(static_cast<double>(call.weight(channel_of(call, set, p))), of_plane);
    }
    const Coefficients<T> c(call, set, 1, all);
    slopes[set - begin] = -c.slope, middles[set - begin] = -c.middle;
  }
  if (!a.out) return;
  set = begin, p = 0;
  for_each_plane_row(call, begin, end, [&](const Rows<S>& rows, int64_t first) {
    typename Rows<S>::Stat mean, rstd, factor, slope, middle;
    int64_t channel = first % a.channels;
    for (int64_t k = 0; k < rows.count; ++k, next_plane()) {
      mean.line(k) = call.means[set], rstd.line(k) = call.rstds[set];
      factor.line(k) = rstd.line(k) * call.weight(channel);
      slope.line(k) = slopes[set - begin], middle.line(k) = middles[set - begin];
      if (++channel == a.channels) channel = 0;
    }
    rows.each([&](const auto& at) {
      const Vec<T> scaled = multiply_add(at.load(1), factor[at], middle[at]);
      at.store(2, multiply_add((at.load(0) - mean[at]) * rstd[at], slope[at], scaled));
    });
  });
}

// The same of any set; or per set, where its weight is one.
template <class S>
void backward_set(const Call<S>& call, int64_t set, GradientSums* sums) {
  using T = Computed<S>;
  const Planes<S> planes = planes_of(call, set);
  const T mean = call.means[set], rstd = call.rstds[set];
  GradientSums all;
  const int64_t sets = call.per_channel ? 1 : planes.count;
  for (int64_t p = 0; p < sets; ++p) {
    const Planes<S> part = call.per_channel ? planes : planes.part(p, 1, 0, planes.size);
    const GradientSums totals = gradient_sums(part, mean, rstd).centred(call, set);
    sums[set * sets + p] = totals;
    all.add(static_cast<double>(call.weight(channel_of(call, set, p))), totals);
  }
  if (!call.a.out) return;
  for (int64_t p = 0; p < planes.count; ++p) {
    const T weight = call.weight(channel_of(call, set, p));
    const Coefficients<T> c(call, set, weight, all);
    const S *x = planes.x + p * planes.x_step, *grad = planes.grad + p * planes.grad_step;
    S* const dx = output_of(call, set, p);
    for_each_vector<T>(0, planes.size, [=](int64_t i, auto memory) {
      const Vec<T> normalised = (memory.load(x + i) - mean) * rstd;
      const Vec<T> scaled = multiply_add(memory.load(grad + i), c.factor, -c.middle);
      memory.store(dx + i, multiply_add(normalised, -c.slope, scaled));
    });
  }
}

template <class S>
void backward_sets(const Call<S>& call, int64_t begin, int64_t end, GradientSums* sums) {
  if (!takes_rows(call)) {
    for (int64_t set = begin; set < end; ++set) backward_set(call, set, sums);
    return;
  }
  for (; begin < end; begin += Rows<S>::kMost)
    backward_rows(call, begin, smaller(begin + Rows<S>::kMost, end), sums);
}

// --------------------------------------------------------------------------------------- the calls

// How x is taken as a matrix; of count 0 where it is not.
inline Spread spread_of(const BatchNormArgs& a) {
  if (a.channels_last) {  // as many pixels in a row as make it long, and divide their number
    const int64_t pixels = a.size * (a.set_channels ? 1 : a.samples);
    int64_t together = 1;
    while (together * a.channels < 64 && pixels % (2 * together) == 0) together *= 2;
    return {together, together == 1 ? 1 : a.channels};
  }
  const bool packed = a.x_channel == a.size && a.x_sample == a.channels * a.size;
  const bool as_grad = !a.grad || (a.grad_channel == a.x_channel && a.grad_sample == a.x_sample);
  const bool small = a.set_channels == 0 && a.size <= 64 && a.samples >= 4;
  return {small && packed && as_grad ? a.size : 0, 1};
}

template <class S>
void forward(const BatchNormArgs& a) {
  const Call<S> call{a};
  const Spread spread = spread_of(a);
  if (spread.count) return forward_matrix(call, spread);
  parallel_for(call.sets, grain_of(call),
               [&](int64_t begin, int64_t end) { forward_sets(call, begin, end); });
}

template <class S>
void backward(const BatchNormArgs& a) {
  using T = Computed<S>;
  const Call<S> call{a};
  const int64_t entries = (call.per_channel ? 1 : a.samples) * a.channels;
  const Scratch<GradientSums> sums(entries);
  const Spread spread = spread_of(a);
  if (spread.count) {
    backward_matrix(call, spread, sums.data);
  } else {
    parallel_for(call.sets, grain_of(call),
                 [&](int64_t begin, int64_t end) { backward_sets(call, begin, end, sums.data); });
  }
  T *const weight_grad = numbers<T>(a.weight_grad), *const bias_grad = numbers<T>(a.bias_grad);
  for (int64_t c = 0; c < a.channels; ++c) {
    GradientSums totals;
    for (int64_t at = c; at < entries; at += a.channels) totals.add(1, sums.data[at]);
    bias_grad[c] = static_cast<T>(totals.sum);
    weight_grad[c] = static_cast<T>(totals.moment);
  }
}

}  // namespace

namespace TT_ISA {
extern const BatchNormTable batch_norm_table = {
    {forward<float>, forward<double>, forward<Half>, forward<BFloat16>},
    {backward<float>, backward<double>, backward<Half>, backward<BFloat16>},
    running_update,
    running_read};
}

}  // namespace tt::cpu
