// A linear map of each dim, one row of the result after another: what the maps of D and H say is
// summed over whole rows of x first, then the map of W runs along that one row.
#pragma once
#include "cpu/gemm.h"
#include "cpu/pool_lanes.h"
#include "cpu/scratch.h"

namespace tt::cpu {
namespace {

template <class T>
inline T number(const void* numbers, int64_t i) {
  return numbers ? static_cast<const T*>(numbers)[i] : T(1);
}

// ---- Along D and H.

// sums (+)= value(x, w) of a row of x.
template <bool first, class T, class Value>
void add_row(const ResampleArgs& g, const T* x, T* sums, const Value& value) {
  const int64_t width = g.axis[2].in, step = g.x_strides[4];
  const auto put = [=](int64_t i, T v) { sums[i] = first ? v : T(sums[i] + v); };
  if (g.channels_last) {
    const int64_t channels = g.channels, between = g.x_strides[1];
    for (int64_t w = 0; w < width; ++w, x += step, sums += channels) {
      T* to = sums;
      if (between == 1) {
        for (int64_t c = 0; c < channels; ++c)
          to[c] = first ? value(x[c], w) : T(to[c] + value(x[c], w));
      } else {
        for (int64_t c = 0; c < channels; ++c)
          to[c] = first ? value(x[c * between], w) : T(to[c] + value(x[c * between], w));
      }
    }
  } else if (step == 1) {
    for (int64_t w = 0; w < width; ++w) put(w, value(x[w], w));
  } else {
    for (int64_t w = 0; w < width; ++w) put(w, value(x[w * step], w));
  }
}

template <bool first, class T>
void add_tap(const ResampleArgs& g, const T* x, T* sums, T weight, T divisor) {
  const T* each = static_cast<const T*>(g.axis[2].divisor);
  if (g.transposed && each) {
    add_row<first>(g, x, sums, [=](T v, int64_t w) { return T(weight * v / (divisor * each[w])); });
  } else if (divisor != T(1)) {
    add_row<first>(g, x, sums, [=](T v, int64_t) { return T(weight * v / divisor); });
  } else if (weight != T(1)) {
    add_row<first>(g, x, sums, [=](T v, int64_t) { return T(weight * v); });
  } else {
    add_row<first>(g, x, sums, [=](T v, int64_t) { return v; });
  }
}

// A row of x as it is, if no sum is needed.
template <class T>
const T* plain_row(const ResampleArgs& g, const T* x, const int64_t* at) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1];
  const int64_t i = d.begin[at[0]], j = h.begin[at[1]];
  const bool dense =
      g.channels_last ? g.x_strides[1] == 1 && g.x_strides[4] == g.channels : g.x_strides[4] == 1;
  if (!dense || g.weight != 1 || (g.transposed && g.divisor != 1) || d.begin[at[0] + 1] != i + 1 ||
      h.begin[at[1] + 1] != j + 1 || d.weight || h.weight ||
      (g.transposed && (g.axis[0].divisor || g.axis[1].divisor || g.axis[2].divisor)))
    return nullptr;
  return x + d.source[i] * g.x_strides[2] + h.source[j] * g.x_strides[3];
}

// Sums over D and H. (An output that sees nothing is 0.)
template <class T>
void sum_rows(const ResampleArgs& g, const T* x, const int64_t* at, T* sums) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1];
  bool first = true;
  for (int64_t i = d.begin[at[0]]; i < d.begin[at[0] + 1]; ++i) {
    for (int64_t j = h.begin[at[1]]; j < h.begin[at[1] + 1]; ++j) {
      const T* row = x + d.source[i] * g.x_strides[2] + h.source[j] * g.x_strides[3];
      const T weight = T(g.weight) * number<T>(d.weight, i) * number<T>(h.weight, j);
      const T divisor = !g.transposed ? T(1)
                                      : T(g.divisor) * number<T>(d.divisor, d.source[i]) *
                                            number<T>(h.divisor, h.source[j]);
      first ? add_tap<true>(g, row, sums, weight, divisor)
            : add_tap<false>(g, row, sums, weight, divisor);
      first = false;
    }
  }
  const int64_t width = g.axis[2].in * (g.channels_last ? g.channels : 1);
  if (first) __builtin_memset(sums, 0, sizeof(T) * uint64_t(width));
}

// ---- Along W.

// `count` elements, in an order that depends on count alone.
template <class T>
T sum_of(const T* x, int64_t count) {
  constexpr int n = lanes<T>;
  T sum{};
  int64_t i = 0;
  if (count >= n) {
    Vec<T> sums[2] = {};
    for (; i + 2 * n <= count; i += 2 * n) {
      sums[0] += load(x + i);
      sums[1] += load(x + i + n);
    }
    if (i + n <= count) {
      sums[0] += load(x + i);
      i += n;
    }
    sums[0] += sums[1];
    T parts[n];
    store(parts, sums[0]);
    for (int half = n / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) parts[k] = T(parts[k] + parts[k + half]);
    }
    sum = parts[0];
  }
  for (; i < count; ++i) sum = T(sum + x[i]);
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
  for (int64_t i = from; i < to; ++i) {
    T sum{};
    for (int64_t k = axis.begin[i]; k < axis.begin[i + 1]; ++k)
      sum = T(sum + (weights ? T(weights[k] * x[axis.source[k]]) : x[axis.source[k]]));
    y[i] = sum;
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
    for (int64_t k = begin; k < end; ++k) {
      const T* from = x + axis.source[k] * channels;
      const T weight = number<T>(axis.weight, k);
      if (k > begin) {
        for (int64_t c = 0; c < channels; ++c) y[c] = T(y[c] + weight * from[c]);
      } else if (weight == T(1)) {
        __builtin_memcpy(y, from, sizeof(T) * uint64_t(channels));
      } else {
        for (int64_t c = 0; c < channels; ++c) y[c] = T(weight * from[c]);
      }
    }
  }
}

template <class T>
void divide(const ResampleArgs& g, const int64_t* at, T* y) {
  const T* each = static_cast<const T*>(g.axis[2].divisor);
  const T all =
      T(g.divisor) * number<T>(g.axis[0].divisor, at[0]) * number<T>(g.axis[1].divisor, at[1]);
  const int64_t width = g.axis[2].out, channels = g.channels_last ? g.channels : 1;
  if (!each) {
    if (all == T(1)) return;
    for (int64_t i = 0; i < width * channels; ++i) y[i] = T(y[i] / all);
  } else if (!g.channels_last) {
    for (int64_t w = 0; w < width; ++w) y[w] = T(y[w] / T(all * each[w]));
  } else {
    for (int64_t w = 0; w < width; ++w, y += channels) {
      const T divisor = T(all * each[w]);
      for (int64_t c = 0; c < channels; ++c) y[c] = T(y[c] / divisor);
    }
  }
}

template <class T>
void resample_row(const ResampleArgs& g, int64_t n, int64_t c, const int64_t* at, T* sums) {
  const T* x = static_cast<const T*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1];
  T* y = static_cast<T*>(g.y) + n * g.y_strides[0] + c * g.y_strides[1] + at[0] * g.y_strides[2] +
         at[1] * g.y_strides[3];
  const LinearAxis& axis = g.axis[2];
  const T* row = plain_row(g, x, at);
  if (!row) {
    sum_rows(g, x, at, sums);
    row = sums;
  }
  if (g.channels_last) {
    along_pixels(g, row, y);
  } else {
    general(axis, 0, axis.first, row, y);
    regular(axis, row, y);
    if (axis.last < axis.out) general(axis, axis.last, axis.out, row, y);
  }
  if (!g.transposed) divide(g, at, y);
}

template <class T>
void resample(const ResampleArgs& g) {
  const int64_t channels = g.channels_last ? 1 : g.channels, inner = g.channels / channels;
  const int64_t rows = g.batch * channels * g.axis[0].out * g.axis[1].out;
  const int64_t width = g.axis[2].in * inner;
  const int64_t work = width + g.axis[2].out * inner;
  parallel_with_scratch(rows, kGrain / (work + 1) + 1, width * int64_t(sizeof(T)),
                        [&](int64_t begin, int64_t end, char* scratch) {
                          Rows r(begin, channels, g.axis[0].out, g.axis[1].out);
                          for (; begin < end; ++begin, r.next())
                            resample_row(g, r.n, r.c, r.at, reinterpret_cast<T*>(scratch));
                        });
}

}  // namespace
}  // namespace tt::cpu
