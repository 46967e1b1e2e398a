// Batch, group and instance norm of x as a matrix whose columns belong to channels. In
// channels_last order a row is a pixel, or some of them where there are few channels; where x is
// (N, C, S) and S is small, a row is a sample. Columns are summed side by side, in blocks of rows;
// blocks and columns of a set then combine in double. Built once per instruction set.
#pragma once
#include <type_traits>

#include "cpu/batch_norm/sets.h"

namespace tt::cpu {
namespace {

constexpr int64_t kBlockColumns = 256, kBlockRows = 512;

// Which columns belong to a channel: `count` of them, `step` apart.
struct Spread {
  int64_t count, step;

  int64_t first(int64_t channel) const { return step == 1 ? channel * count : channel; }
};

template <class S>
struct Matrix {
  const Call<S>& call;
  const Spread spread;
  const int64_t columns = call.a.channels * spread.count;
  const int64_t samples = call.per_channel ? 1 : call.a.samples;
  const int64_t rows = call.a.size * (call.per_channel ? call.a.samples : 1) / spread.count;
  const int64_t width = smaller(columns, kBlockColumns);  // of a block
  const int64_t height = larger(1, smaller(kBlockRows, kBlock / larger(1, width)));
  const int64_t across = blocks(columns, width), down = blocks(rows, height);

  struct Block {
    int64_t sample, number, column;  // number: among those below one another
    int64_t rows, columns;
    int64_t start;  // of its first element in x, if of `stride` columns
  };

  int64_t rows_of(int64_t number) const { return smaller(height, rows - number * height); }
  // What is kept of a block's column stands here, after what is kept of the blocks above it.
  int64_t place(int64_t sample, int64_t number, int64_t column) const {
    return (sample * down + number) * columns + column;
  }
  int64_t places() const { return samples * down * columns; }

  // f(block), in parallel.
  template <class F>
  void for_each_block(F f) const {
    parallel_for(
        samples * down * across, kGrain / (width * height), [&](int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; ++at) {
            const int64_t sample = at / across / down, number = at / across % down;
            const int64_t column = at % across * width, row = sample * rows + number * height;
            f(Block{sample, number, column, rows_of(number), smaller(width, columns - column),
                    row * columns + column});
          }
        });
  }
  // f(sample, the first channel, the number of the set), in parallel.
  template <class F>
  void for_each_set(F f) const {
    const int64_t sets = call.sets_of_sample, elements = call.together * spread.count * down;
    parallel_for(samples * sets, kGrain / 4 / elements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) f(at / sets, at % sets * call.together, at);
    });
  }
  // f(i, at, memory) for vectors of all elements, in parallel: their place in x, and that of their
  // columns in what is kept per sample and column.
  template <class F>
  void for_each_element(F f) const {
    for_each_block([&](const Block& b) {
      const int64_t at = b.sample * columns + b.column;
      for (int64_t r = 0; r < b.rows; ++r) {
        const int64_t row = b.start + r * columns;
        for_each_vector<Computed<S>>(0, b.columns,
                                     [=](int64_t c, auto memory) { f(row + c, at + c, memory); });
      }
    });
  }
  template <class F>
  void for_each_column(int64_t channel, F f) const {
    int64_t column = spread.first(channel);
    for (int64_t i = 0; i < spread.count; ++i, column += spread.step) f(column);
  }
};

// f(column, memory, vectors): all columns, several vectors at a time.
template <class T, class F>
void for_each_columns(int64_t columns, F f) {
  constexpr int kMany = 4;
  int64_t c = 0;
  for (; c + kMany * lanes<T> <= columns; c += kMany * lanes<T>)
    f(c, Whole<T>(), std::integral_constant<int, kMany>());
  for (; c + lanes<T> <= columns; c += lanes<T>) f(c, Whole<T>(), std::integral_constant<int, 1>());
  if (c < columns) f(c, Front<T>(columns - c), std::integral_constant<int, 1>());
}

// Means, what they lack of the true ones, and squares of the distances from those, of each column
// of a block.
template <class S, class T>
void column_moments(const S* x, int64_t rows, int64_t columns, int64_t stride, T* means, T* rests,
                    T* squares) {
  for_each_columns<T>(columns, [=](int64_t c, auto memory, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    const T n = static_cast<T>(rows);
    Vec<T> mean[kVectors] = {}, rest[kVectors] = {}, sum[kVectors] = {};
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) mean[v] += memory.load(x + r * stride + c + v * lanes<T>);
    for (int v = 0; v < kVectors; ++v) mean[v] /= n;
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) {
        const Vec<T> distance = memory.load(x + r * stride + c + v * lanes<T>) - mean[v];
        rest[v] += distance;
        sum[v] += distance * distance;
      }
    for (int v = 0; v < kVectors; ++v) {
      const Vec<T> lacks = rest[v] / n;  // NaN where the mean is infinite
      memory.store(means + c + v * lanes<T>, mean[v]);
      memory.store(rests + c + v * lanes<T>, select(lacks == lacks, lacks, Vec<T>{}));
      memory.store(squares + c + v * lanes<T>, sum[v] - rest[v] * rest[v] / n);
    }
  });
}

// The sums of grad and grad x'.
template <class S, class T>
void column_gradient_sums(const S* x, const S* grad, const T* means, const T* rstds, int64_t rows,
                          int64_t columns, int64_t stride, T* sums, T* moments) {
  for_each_columns<T>(columns, [=](int64_t c, auto memory, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    Vec<T> mean[kVectors], rstd[kVectors], sum[kVectors] = {}, moment[kVectors] = {};
    for (int v = 0; v < kVectors; ++v) {
      mean[v] = memory.load(means + c + v * lanes<T>);
      rstd[v] = memory.load(rstds + c + v * lanes<T>);
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = r * stride + c + v * lanes<T>;
        const Vec<T> g = memory.load(grad + at);
        sum[v] += g;
        moment[v] += g * ((memory.load(x + at) - mean[v]) * rstd[v]);
      }
    for (int v = 0; v < kVectors; ++v) {
      memory.store(sums + c + v * lanes<T>, sum[v]);
      memory.store(moments + c + v * lanes<T>, moment[v]);
    }
  });
}

template <class S>
void forward_matrix(const Call<S>& call, Spread spread) {
  using T = Computed<S>;
  const Matrix<S> m{call, spread};
  const S* const x = numbers<S>(call.a.x);
  S* const y = numbers<S>(call.a.out);
  // Per block and column the mean and the squares; per sample and column mean, scale and shift.
  const int64_t all = m.samples * m.columns;
  const Scratch<T> scratch(3 * m.places() + 3 * all);
  T *const means = scratch.data, *const rests = means + m.places();
  T* const squares = rests + m.places();
  T *const mean = squares + m.places(), *const scale = mean + all, *const shift = scale + all;
  if (!call.a.fixed)
    m.for_each_block([&](const auto& b) {
      const int64_t at = m.place(b.sample, b.number, b.column);
      column_moments(x + b.start, b.rows, b.columns, m.columns, means + at, rests + at,
                     squares + at);
    });
  m.for_each_set([&](int64_t sample, int64_t first, int64_t set) {
    if (!call.a.fixed) {
      double middle = 0, sum = 0;
      auto each = [&](auto f) {
        for (int64_t b = 0; b < m.down; ++b)
          for (int64_t channel = first; channel < first + call.together; ++channel)
            m.for_each_column(channel, [&](int64_t c) {
              f(static_cast<double>(m.rows_of(b)), m.place(sample, b, c));
            });
      };
      const auto mean_at = [=](int64_t at) {
        return static_cast<double>(means[at]) + static_cast<double>(rests[at]);
      };
      each([&](double n, int64_t at) { middle += n * mean_at(at); });
      middle /= static_cast<double>(call.elements);
      each([&](double n, int64_t at) {
        const double distance = mean_at(at) - middle;
        sum += static_cast<double>(squares[at]) + n * distance * distance;
      });
      call.finish(set, middle, sum);
    }
    for (int64_t channel = first; channel < first + call.together; ++channel)
      m.for_each_column(channel, [&](int64_t c) {
        const int64_t at = sample * m.columns + c;
        mean[at] = call.means[set];
        scale[at] = call.rstds[set] * call.weight(channel);
        shift[at] = call.shift(channel, set, scale[at]);
      });
  });
  m.for_each_element([=](int64_t i, int64_t at, auto memory) {
    const Vec<T> distance = memory.load(x + i) - memory.load(mean + at);
    const Vec<T> factor = memory.load(scale + at);
    memory.store(y + i, multiply_add(distance, factor, memory.load(shift + at)));
  });
}

// `sums`: per sample and channel.
template <class S>
void backward_matrix(const Call<S>& call, Spread spread, GradientSums* sums) {
  using T = Computed<S>;
  const Matrix<S> m{call, spread};
  const S *const x = numbers<S>(call.a.x), *const grad = numbers<S>(call.a.grad);
  S* const dx = numbers<S>(call.a.out);
  const int64_t all = m.samples * m.columns;
  const Scratch<T> scratch(2 * m.places() + 5 * all);
  T *const partial = scratch.data, *const moments = partial + m.places();
  T *const mean = moments + m.places(), *const rstd = mean + all, *const factor = rstd + all;
  T *const slope = factor + all, *const middle = slope + all;
  m.for_each_set([&](int64_t sample, int64_t first, int64_t set) {
    for (int64_t channel = first; channel < first + call.together; ++channel)
      m.for_each_column(channel, [&](int64_t c) {
        const int64_t at = sample * m.columns + c;
        mean[at] = call.means[set], rstd[at] = call.rstds[set];
      });
  });
  m.for_each_block([&](const auto& b) {
    const int64_t at = m.place(b.sample, b.number, b.column);
    const int64_t stat = b.sample * m.columns + b.column;
    column_gradient_sums(x + b.start, grad + b.start, mean + stat, rstd + stat, b.rows, b.columns,
                         m.columns, partial + at, moments + at);
  });
  m.for_each_set([&](int64_t sample, int64_t first, int64_t set) {
    GradientSums all;
    for (int64_t channel = first; channel < first + call.together; ++channel) {
      GradientSums totals;
      for (int64_t b = 0; b < m.down; ++b)
        m.for_each_column(channel, [&](int64_t c) {
          const int64_t at = m.place(sample, b, c);
          totals.add(1, {static_cast<double>(partial[at]), static_cast<double>(moments[at])});
        });
      totals = totals.centred(call, set);
      sums[sample * call.a.channels + channel] = totals;
      all.add(static_cast<double>(call.weight(channel)), totals);
    }
    for (int64_t channel = first; channel < first + call.together; ++channel) {
      const Coefficients<T> k(call, set, call.weight(channel), all);
      m.for_each_column(channel, [&](int64_t c) {
        const int64_t at = sample * m.columns + c;
        factor[at] = k.factor, slope[at] = -k.slope, middle[at] = -k.middle;
      });
    }
  });
  if (!dx) return;
  m.for_each_element([=](int64_t i, int64_t at, auto memory) {
    const Vec<T> distance = memory.load(x + i) - memory.load(mean + at);
    const Vec<T> normalised = distance * memory.load(rstd + at);
    const Vec<T> scaled =
        multiply_add(memory.load(grad + i), memory.load(factor + at), memory.load(middle + at));
    memory.store(dx + i, multiply_add(normalised, memory.load(slope + at), scaled));
  });
}

}  // namespace
}  // namespace tt::cpu
