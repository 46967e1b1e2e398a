// Batch, group and instance norm of (N, S, C), where the channels of a pixel lie side by side:
// columns are summed in blocks of rows. Built once per instruction set.
#pragma once
#include <type_traits>

#include "cpu/batch_norm_sets.h"

namespace tt::cpu {
namespace {

// A matrix of `rows` rows of all channels per sample: batch norm takes all for one sample.
template <class T>
struct Matrix {
  const Call<T>& call;
  const int64_t channels = call.a.channels;
  const int64_t samples = call.per_channel ? 1 : call.a.samples;
  const int64_t rows = call.a.size * (call.per_channel ? call.a.samples : 1);
  const int64_t block = larger(1, smaller(kRowsOfBlock, kBlock / larger(1, channels)));
  const int64_t blocks = parts(rows, block);  // of a sample

  int64_t rows_of(int64_t b) const { return smaller(block, rows - b * block); }
  // f(sample, block, the offset of its first element), in parallel.
  template <class F>
  void for_each_block(F f) const {
    parallel_for(
        samples * blocks, kGrain / larger(1, block * channels), [&](int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; ++at)
            f(at / blocks, at % blocks, (at / blocks * rows + at % blocks * block) * channels);
        });
  }
};

// f(column, memory): all columns, several vectors at a time.
template <class T, class F>
void for_each_columns(int64_t channels, F f) {
  constexpr int kMany = 4;
  int64_t c = 0;
  for (; c + kMany * lanes<T> <= channels; c += kMany * lanes<T>)
    f(c, WholeVector<T>(), std::integral_constant<int, kMany>());
  for (; c + lanes<T> <= channels; c += lanes<T>)
    f(c, WholeVector<T>(), std::integral_constant<int, 1>());
  if (c < channels) f(c, PartOfVector<T>{channels - c}, std::integral_constant<int, 1>());
}

// Means and squares of the distances from them, of each column of a block of rows.
template <class T>
void column_moments(const T* x, int64_t rows, int64_t channels, T* means, T* squares) {
  for_each_columns<T>(channels, [=](int64_t c, auto memory, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    const T n = static_cast<T>(rows);
    Vec<T> mean[kVectors] = {}, rest[kVectors] = {}, sum[kVectors] = {};
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v)
        mean[v] += memory.load(x + r * channels + c + v * lanes<T>);
    for (int v = 0; v < kVectors; ++v) mean[v] /= n;
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) {
        const Vec<T> distance = memory.load(x + r * channels + c + v * lanes<T>) - mean[v];
        rest[v] += distance;
        sum[v] += distance * distance;
      }
    for (int v = 0; v < kVectors; ++v) {
      memory.store(means + c + v * lanes<T>, mean[v] + rest[v] / n);
      memory.store(squares + c + v * lanes<T>, sum[v] - rest[v] * rest[v] / n);
    }
  });
}

// The sums of grad and grad (x - mean).
template <class T>
void column_gradient_sums(const T* x, const T* grad, const T* means, int64_t rows, int64_t channels,
                          T* sums, T* moments) {
  for_each_columns<T>(channels, [=](int64_t c, auto memory, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    Vec<T> mean[kVectors], sum[kVectors] = {}, moment[kVectors] = {};
    for (int v = 0; v < kVectors; ++v) mean[v] = memory.load(means + c + v * lanes<T>);
    for (int64_t r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = r * channels + c + v * lanes<T>;
        const Vec<T> g = memory.load(grad + at);
        sum[v] += g;
        moment[v] += g * (memory.load(x + at) - mean[v]);
      }
    for (int v = 0; v < kVectors; ++v) {
      memory.store(sums + c + v * lanes<T>, sum[v]);
      memory.store(moments + c + v * lanes<T>, moment[v]);
    }
  });
}

// Scratch memory of a call: `count` elements of T.
template <class T>
struct Scratch {
  T* const data;
  explicit Scratch(int64_t count)
      : data(static_cast<T*>(scratch_acquire(static_cast<size_t>(count) * sizeof(T)))) {}
  ~Scratch() { scratch_release(data); }
  Scratch(const Scratch&) = delete;
};

template <class T>
void forward_matrix(const Call<T>& call) {
  const Matrix<T> m{call};
  const BatchNormArgs& a = call.a;
  const int64_t channels = m.channels, kept = m.blocks * channels;
  const T* const x = numbers<T>(a.x);
  T* const y = numbers<T>(a.out);
  // Per block and column the mean and the squares; then per sample and column mean, scale, shift.
  const Scratch<T> scratch(m.samples * (2 * kept + 3 * channels));
  T *const means = scratch.data, *const squares = means + m.samples * kept;
  T* const columns = squares + m.samples * kept;
  if (!a.fixed) {
    m.for_each_block([&](int64_t sample, int64_t b, int64_t first) {
      const int64_t at = (sample * m.blocks + b) * channels;
      column_moments(x + first, m.rows_of(b), channels, means + at, squares + at);
    });
    for (int64_t sample = 0; sample < m.samples; ++sample)
      for (int64_t c = 0; c < channels; c += call.together) {
        double mean = 0, sum = 0;
        auto each = [&](auto f) {
          for (int64_t b = 0; b < m.blocks; ++b)
            for (int64_t i = 0; i < call.together; ++i)
              f(static_cast<double>(m.rows_of(b)), (sample * m.blocks + b) * channels + c + i);
        };
        each([&](double n, int64_t at) { mean += n * static_cast<double>(means[at]); });
        mean /= static_cast<double>(call.elements);
        each([&](double n, int64_t at) {
          const double distance = static_cast<double>(means[at]) - mean;
          sum += static_cast<double>(squares[at]) + n * distance * distance;
        });
        call.finish(call.set_of(sample, c), mean, sum);
      }
  }
  for (int64_t sample = 0; sample < m.samples; ++sample)
    for (int64_t c = 0; c < channels; ++c) {
      T* const column = columns + sample * 3 * channels + c;
      const int64_t set = call.set_of(sample, c);
      column[0] = call.means[set];
      column[channels] = call.rstds[set] * call.weight(c);
      column[2 * channels] = call.bias(c);
    }
  m.for_each_block([&](int64_t sample, int64_t b, int64_t first) {
    const T* const column = columns + sample * 3 * channels;
    for (int64_t r = 0; r < m.rows_of(b); ++r) {
      const int64_t row = first + r * channels;
      for_each_vector<T>(channels, [=](int64_t c, auto memory) {
        const Vec<T> distance = memory.load(x + row + c) - memory.load(column + c);
        const Vec<T> scale = memory.load(column + channels + c);
        const Vec<T> shift = memory.load(column + 2 * channels + c);
        memory.store(y + row + c, multiply_add(distance, scale, shift));
      });
    }
  });
}

// `sums`: of grad and grad (x - mean) / sqrt(variance + eps), per sample and channel.
template <class T>
void backward_matrix(const Call<T>& call, double* sums) {
  const Matrix<T> m{call};
  const BatchNormArgs& a = call.a;
  const int64_t channels = m.channels, kept = m.blocks * channels;
  const T *const x = numbers<T>(a.x), *const grad = numbers<T>(a.grad);
  T* const dx = numbers<T>(a.out);
  const Scratch<T> scratch(m.samples * (2 * kept + 4 * channels));
  T *const partial = scratch.data, *const moments = partial + m.samples * kept;
  T* const columns = moments + m.samples * kept;  // per sample: mean, factor, slope, middle
  for (int64_t sample = 0; sample < m.samples; ++sample)
    for (int64_t c = 0; c < channels; ++c)
      columns[sample * 4 * channels + c] = call.means[call.set_of(sample, c)];
  m.for_each_block([&](int64_t sample, int64_t b, int64_t first) {
    const int64_t at = (sample * m.blocks + b) * channels;
    column_gradient_sums(x + first, grad + first, columns + sample * 4 * channels, m.rows_of(b),
                         channels, partial + at, moments + at);
  });
  for (int64_t sample = 0; sample < m.samples; ++sample)
    for (int64_t c = 0; c < channels; c += call.together) {
      const T rstd = call.rstds[call.set_of(sample, c)];
      double sum = 0, moment = 0;
      for (int64_t i = c; i < c + call.together; ++i) {
        double totals[2] = {0, 0};
        for (int64_t b = 0; b < m.blocks; ++b) {
          const int64_t at = (sample * m.blocks + b) * channels + i;
          totals[0] += static_cast<double>(partial[at]);
          totals[1] += static_cast<double>(moments[at]);
        }
        double* const entry = sums + (sample * channels + i) * 2;
        entry[0] = totals[0], entry[1] = totals[1] * static_cast<double>(rstd);
        const double weight = static_cast<double>(call.weight(i));
        sum += weight * totals[0], moment += weight * totals[1];
      }
      for (int64_t i = c; i < c + call.together; ++i) {
        const Coefficients<T> k(a, call.elements, call.weight(i), rstd, sum, moment);
        T* const column = columns + sample * 4 * channels + i;
        column[channels] = k.factor, column[2 * channels] = -k.slope;
        column[3 * channels] = -k.middle;
      }
    }
  if (!dx) return;
  m.for_each_block([&](int64_t sample, int64_t b, int64_t first) {
    const T* const column = columns + sample * 4 * channels;
    for (int64_t r = 0; r < m.rows_of(b); ++r) {
      const int64_t row = first + r * channels;
      for_each_vector<T>(channels, [=](int64_t c, auto memory) {
        const Vec<T> distance = memory.load(x + row + c) - memory.load(column + c);
        const Vec<T> scaled =
            multiply_add(memory.load(grad + row + c), memory.load(column + channels + c),
                         memory.load(column + 3 * channels + c));
        memory.store(dx + row + c,
                     multiply_add(distance, memory.load(column + 2 * channels + c), scaled));
      });
    }
  });
}

}  // namespace
}  // namespace tt::cpu
