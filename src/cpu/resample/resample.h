// A linear map of each dim, one row of the result after another: what the maps of D and H say is
// summed over whole rows of x first, then the map of W runs along that one row. Elements are of S
// in memory, halves floats (T) in sums.
#pragma once
#include "core/tables/resample.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/scratch.h"
#include "cpu/resample/rows.h"
#include "cpu/vec/vec_fold.h"

namespace tt::cpu {
namespace {

// ---- Along D and H.

// sums (+)= value(x, w) of a row of x.
template <bool first, class S, class T, class Value>
void add_row(const ResampleArgs& g, const S* x, T* sums, const Value& value) {
  const int64_t width = g.axis[2].in, step = g.x_strides[4];
  const auto put = [](T& sum, T v) { sum = first ? v : T(sum + v); };
  if (g.channels_last) {
    const int64_t channels = g.channels, between = g.x_strides[1];
    for (int64_t w = 0; w < width; ++w, x += step, sums += channels)
      for (int64_t c = 0; c < channels; ++c) put(sums[c], value(T(x[c * between]), w));
  } else {
    for (int64_t w = 0; w < width; ++w) put(sums[w], value(T(x[w * step]), w));
  }
}

template <bool first, class S, class T>
void add_tap(const ResampleArgs& g, const S* x, T* sums, T weight, T divisor) {
  const T* each = static_cast<const T*>(g.axis[2].divisor);
  if (g.transposed && each) {
    add_row<first>(g, x, sums,
                   [=](T v, int64_t w) { return quotient<T>(weight * v, divisor * each[w]); });
  } else if (divisor != T(1)) {
    add_row<first>(g, x, sums, [=](T v, int64_t) { return quotient<T>(weight * v, divisor); });
  } else {
    add_row<first>(g, x, sums, [=](T v, int64_t) { return T(weight * v); });
  }
}

// Whether the elements of a row of x follow one another, as those of `sums` do.
inline bool has_dense_rows(const ResampleArgs& g) {
  return g.channels_last ? g.x_strides[1] == 1 && g.x_strides[4] == g.channels
                         : g.x_strides[4] == 1;
}

// Two taps at once, the sum in the same order.
template <class S>
struct Taps {
  using T = Computed<S>;
  const S* x[2];
  T weight[2];
  int count = 0;

  void add_to(T* sums, int64_t width, bool first) {
    const T v = weight[0], w = weight[1];
    if (count == 2 && first)
      put(sums, width, [=](auto, auto a, auto b) { return v * a + w * b; });
    else if (count == 2)
      put(sums, width, [=](auto sum, auto a, auto b) { return sum + v * a + w * b; });
    else if (first)
      put(sums, width, [=](auto, auto a, auto) { return v * a; });
    else
      put(sums, width, [=](auto sum, auto a, auto) { return sum + v * a; });
    count = 0;
  }

 private:
  // sums = f(sums, x[0], x[1]); of a single row, that is x[1] too.
  template <class F>
  void put(T* sums, int64_t width, F f) const {
    const S *a = x[0], *b = x[count - 1];
    if constexpr (is_half_type<S>) {
      for_each_vector<T>(0, width, [&](int64_t i, auto memory) {
        memory.store(sums + i, f(memory.load(sums + i), memory.load(a + i), memory.load(b + i)));
      });
    } else {
      for (int64_t i = 0; i < width; ++i) sums[i] = T(f(sums[i], a[i], b[i]));
    }
  }
};

// A row of x as it is, if no sum is needed.
template <class S>
const Computed<S>* plain_row(const ResampleArgs& g, const S* x, const int64_t* at) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1];
  const int64_t i = d.begin[at[0]], j = h.begin[at[1]];
  if (!has_dense_rows(g) || g.weight != 1 || (g.transposed && g.divisor != 1) ||
      d.begin[at[0] + 1] != i + 1 || h.begin[at[1] + 1] != j + 1 || d.weight || h.weight ||
      (g.transposed && (g.axis[0].divisor || g.axis[1].divisor || g.axis[2].divisor)))
    return nullptr;
  if constexpr (is_half_type<S>)
    return nullptr;
  else
    return x + d.source[i] * g.x_strides[2] + h.source[j] * g.x_strides[3];
}

// Sums over D and H. (An output that sees nothing is 0.)
template <class S, class T>
void sum_rows(const ResampleArgs& g, const S* x, const int64_t* at, T* sums) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1];
  const bool divides =
      g.transposed && (g.divisor != 1 || d.divisor || h.divisor || g.axis[2].divisor);
  const bool pairs = !divides && has_dense_rows(g);
  const int64_t width = g.axis[2].in * (g.channels_last ? g.channels : 1);
  Taps<S> taps;
  bool first = true;
  for_each_seen<T>(g, x, at, [&](const S* row, T weight, int64_t i, int64_t j) {
    if (pairs) {
      taps.x[taps.count] = row;
      taps.weight[taps.count] = weight;
      if (++taps.count < 2) return;
      taps.add_to(sums, width, first);
    } else {
      const T divisor = divides ? number<T>(g.divisor) * number<T>(d.divisor, d.source[i]) *
                                      number<T>(h.divisor, h.source[j])
                                : T(1);
      first ? add_tap<true>(g, row, sums, weight, divisor)
            : add_tap<false>(g, row, sums, weight, divisor);
    }
    first = false;
  });
  if (taps.count) {
    taps.add_to(sums, width, first);
  } else if (first) {
    for (int64_t i = 0; i < width; ++i) sums[i] = T(0);  // memset takes no null, not even for 0
  }
}

// ---- Along W.

// `count` elements, in an order that depends on count alone.
template <class S>
Computed<S> sum_of(const S* x, int64_t count) {
  using T = Computed<S>;
  constexpr int n = lanes<T>;
  T sum{};
  int64_t i = 0;
  if (count >= n) {
    Vec<T> sums[2] = {};
    for (; i + 2 * n <= count; i += 2 * n) {
      sums[0] += Whole<T>().load(x + i);
      sums[1] += Whole<T>().load(x + i + n);
    }
    if (i + n <= count) {
      sums[0] += Whole<T>().load(x + i);
      i += n;
    }
    sums[0] += sums[1];
    sum = fold<T, kVectorBytes>(sums[0], Plus());
  }
  for (; i < count; ++i) sum = T(sum + T(x[i]));
  return sum;
}

template <class T, int Taps, int Step>
void sum_windows(const T* x, int64_t count, T* y) {
  for (int64_t i = 0; i < count; ++i) {
    T sum = x[i * Step];
    for (int t = 1; t < Taps; ++t) sum = T(sum + x[i * Step + t]);
    y[i] = sum;
  }
}

// Outputs [first, last): sums of `taps` neighbours, or elements repeated.
template <class T>
void regular(const LinearAxis& axis, const T* x, T* y) {
  const int64_t count = axis.last - axis.first;
  if (count <= 0) return;
  x += axis.source[axis.begin[axis.first]];
  y += axis.first;
  if (axis.repeat == 2) {
    for (int64_t i = 0; i < count / 2; ++i) y[2 * i] = y[2 * i + 1] = x[i];
  } else if (axis.repeat > 1) {
    for (int64_t i = 0; i < count; i += axis.repeat, ++x) {
      for (int64_t r = 0; r < axis.repeat; ++r) y[i + r] = *x;
    }
  } else if (axis.taps == 1 && axis.step == 1) {
    __builtin_memcpy(y, x, sizeof(T) * uint64_t(count));
  } else if (axis.taps == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * axis.step];
  } else if (axis.taps == 2 && axis.step == 2) {
    sum_windows<T, 2, 2>(x, count, y);
  } else if (axis.taps == 3 && axis.step == 2) {
    sum_windows<T, 3, 2>(x, count, y);
  } else if (axis.taps == 3 && axis.step == 1) {
    sum_windows<T, 3, 1>(x, count, y);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = sum_of(x + i * axis.step, axis.taps);
  }
}

template <class T, int Taps>
void weigh(const T* weights, const int64_t* source, const T* x, int64_t count, T* y) {
  for (int64_t i = 0; i < count; ++i) {
    T sum = T(weights[i * Taps] * x[source[i * Taps]]);
    for (int t = 1; t < Taps; ++t) sum = T(sum + weights[i * Taps + t] * x[source[i * Taps + t]]);
    y[i] = sum;
  }
}

// Any outputs.
template <class T>
void general(const LinearAxis& axis, int64_t from, int64_t to, const T* x, T* y) {
  const T* weights = static_cast<const T*>(axis.weight);
  if (weights && axis.taps == 2) return weigh<T, 2>(weights, axis.source, x, axis.out, y);
  if (weights && axis.taps == 4) return weigh<T, 4>(weights, axis.source, x, axis.out, y);
  const auto term = [=](int64_t k) {
    return weights ? T(weights[k] * x[axis.source[k]]) : x[axis.source[k]];
  };
  for (int64_t i = from; i < to; ++i) {
    const int64_t begin = axis.begin[i], end = axis.begin[i + 1];
    T sum = begin < end ? term(begin) : T{};
    for (int64_t k = begin + 1; k < end; ++k) sum = T(sum + term(k));
    y[i] = sum;
  }
}

template <class T>
void along_row(const LinearAxis& axis, const T* x, T* y) {
  general(axis, 0, axis.first, x, y);
  regular(axis, x, y);
  if (axis.last < axis.out) general(axis, axis.last, axis.out, x, y);
}

// As sum_of, in the same order, of the channels of `count` pixels.
template <class T>
void sum_pixels(const T* x, int64_t count, int64_t channels, T* y) {
  constexpr int n = lanes<T>, block = 16;
  for (int64_t first = 0; first < channels; first += block, x += block, y += block) {
    const int64_t width = channels - first < block ? channels - first : block;
    T sums[2 * n][block] = {};
    const auto add = [&](int64_t pixel, int64_t parts) {
      for (int64_t k = 0; k < parts; ++k) {
        const T* from = x + (pixel + k) * channels;
        for (int64_t c = 0; c < width; ++c) sums[k][c] = T(sums[k][c] + from[c]);
      }
    };
    int64_t i = 0;
    for (; i + 2 * n <= count; i += 2 * n) add(i, 2 * n);
    if (i + n <= count) {
      add(i, n);
      i += n;
    }
    for (int half = n; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) {
        for (int c = 0; c < block; ++c) sums[k][c] = T(sums[k][c] + sums[k + half][c]);
      }
    }
    for (; i < count; ++i) add(i, 1);
    __builtin_memcpy(y, sums[0], sizeof(T) * uint64_t(width));
  }
}

// Channels of all pixels, where they come last.
template <class T>
void along_pixels(const ResampleArgs& g, const T* x, T* y) {
  const LinearAxis& axis = g.axis[2];
  const int64_t channels = g.channels;
  for (int64_t i = 0; i < axis.out; ++i, y += channels) {
    const int64_t begin = axis.begin[i], end = axis.begin[i + 1];
    if (begin == end) __builtin_memset(y, 0, sizeof(T) * uint64_t(channels));
    if (end == begin + 1 && number<T>(axis.weight, begin) == T(1)) {
      copy_run(x + axis.source[begin] * channels, channels, y);
      continue;
    }
    if (!axis.weight && axis.first <= i && i < axis.last && axis.taps >= lanes<T>) {
      sum_pixels(x + axis.source[begin] * channels, axis.taps, channels, y);
      continue;
    }
    Taps<T> taps;
    bool first = true;
    for (int64_t k = begin; k < end; ++k) {
      taps.x[taps.count] = x + axis.source[k] * channels;
      taps.weight[taps.count] = number<T>(axis.weight, k);
      if (++taps.count < 2 && k + 1 < end) continue;
      taps.add_to(y, channels, first);
      first = false;
    }
  }
}

template <class T>
void divide(const ResampleArgs& g, const int64_t* at, T* y) {
  const T* each = static_cast<const T*>(g.axis[2].divisor);
  const T all = number<T>(g.divisor) * number<T>(g.axis[0].divisor, at[0]) *
                number<T>(g.axis[1].divisor, at[1]);
  const int64_t width = g.axis[2].out, channels = g.channels_last ? g.channels : 1;
  if (!each) {
    if (all == T(1)) return;
    for (int64_t i = 0; i < width * channels; ++i) y[i] = quotient(y[i], all);
  } else if (!g.channels_last) {
    for (int64_t w = 0; w < width; ++w) y[w] = quotient<T>(y[w], all * each[w]);
  } else {
    for (int64_t w = 0; w < width; ++w, y += channels) {
      const T divisor = T(all * each[w]);
      for (int64_t c = 0; c < channels; ++c) y[c] = quotient(y[c], divisor);
    }
  }
}

// `sums` has place for a row of x, and of halves for one of y.
template <class S>
void resample_row(const ResampleArgs& g, RowKind kind, int64_t n, int64_t c, const int64_t* at,
                  Computed<S>* sums, S* y) {
  using T = Computed<S>;
  const S* x = static_cast<const S*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1];
  if (kind != RowKind::Any && resample_row_as(g, kind, x, at, y)) return;
  const int64_t inner = g.channels_last ? g.channels : 1, size = g.axis[2].out * inner;
  const T* row = plain_row(g, x, at);
  T* wide;
  if constexpr (is_half_type<S>)
    wide = sums + g.axis[2].in * inner;
  else
    wide = y;
  if (!row) {
    sum_rows(g, x, at, sums);
    row = sums;
  }
  g.channels_last ? along_pixels(g, row, wide) : along_row(g.axis[2], row, wide);
  if (!g.transposed) divide(g, at, wide);
  if constexpr (is_half_type<S>)
    for_each_vector<T>(0, size,
                       [&](int64_t i, auto memory) { memory.store(y + i, memory.load(wide + i)); });
}

// Whether a row of y is the one before it once more.
inline bool repeats_row(const ResampleArgs& g, int64_t row) {
  const LinearAxis& h = g.axis[1];
  if (row == 0 || h.weight || (h.divisor && !g.transposed)) return false;
  const int64_t begin = h.begin[row];
  return begin - h.begin[row - 1] == 1 && h.begin[row + 1] - begin == 1 &&
         h.source[begin] == h.source[begin - 1];
}

// One sum per plane of x.
template <class S>
void sum_planes(const ResampleArgs& g, int64_t begin, int64_t end) {
  using T = Computed<S>;
  const LinearAxis& axis = g.axis[2];
  const T divisor = number<T>(g.divisor), weight = T(g.weight);
  int64_t n = begin / g.channels, c = begin % g.channels;  // counted on: dividing takes as long
  for (; begin < end; ++begin, ++c) {
    if (c == g.channels) c = 0, ++n;
    const S* x = static_cast<const S*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1];
    S* y = static_cast<S*>(g.y) + n * g.y_strides[0] + c * g.y_strides[1];
    *y = S(quotient<T>(weight * sum_of(x + axis.source[0], axis.taps), divisor));
  }
}

template <class S>
void resample(const ResampleArgs& g) {
  using T = Computed<S>;
  const int64_t channels = g.channels_last ? 1 : g.channels, inner = g.channels / channels;
  const int64_t rows = g.batch * channels * g.axis[0].out * g.axis[1].out;
  const int64_t width = g.axis[2].in * inner;
  const int64_t work = width + g.axis[2].out * inner, size = g.axis[2].out * inner;
  const LinearAxis& axis = g.axis[2];
  if (!g.channels_last && g.axis[0].in == 1 && g.axis[1].in == 1 && size == 1 && axis.last == 1 &&
      axis.taps > 1 && rows == g.batch * channels && g.x_strides[4] == 1 && !axis.divisor &&
      !axis.weight && !g.transposed) {
    return parallel_for(rows, kGrain / (work + 1) + 1,
                        [&](int64_t begin, int64_t end) { sum_planes<S>(g, begin, end); });
  }
  const RowKind kind = kind_of_rows<S>(g);
  parallel_with_scratch(
      rows, kGrain / (work + 1) + 1, (is_half_type<S> ? work : width) * int64_t(sizeof(T)),
      [&](int64_t begin, int64_t end, char* scratch) {
        Rows r(begin, channels, g.axis[0].out, g.axis[1].out);
        for (bool started = false; begin < end; ++begin, r.next(), started = true) {
          S* y = static_cast<S*>(g.y) + r.n * g.y_strides[0] + r.c * g.y_strides[1] +
                 r.at[0] * g.y_strides[2] + r.at[1] * g.y_strides[3];
          if (started && repeats_row(g, r.at[1])) {
            copy_run(y - g.y_strides[3], size, y);
          } else {
            resample_row<S>(g, kind, r.n, r.c, r.at, reinterpret_cast<T*>(scratch), y);
          }
        }
      });
}

}  // namespace
}  // namespace tt::cpu
