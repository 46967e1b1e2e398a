// Where channels come last: pixels of the result, a block of their channels at a time, as sums of
// pixels of x. What runs along D and H is summed first, in the order of sum_rows (resample.h).
#pragma once
#include "core/tables/resample.h"
#include "cpu/pool/lanes.h"
#include "cpu/vec/int_math.h"

namespace tt::cpu {
namespace {

template <class T>
inline T number(const void* numbers, int64_t i) {
  return numbers ? static_cast<const T*>(numbers)[i] : T(1);
}

// Integers are unsigned here, for sums that wrap around; a divisor and a quotient have a sign.
template <class T>
using Signed = std::conditional_t<std::is_same_v<T, uint64_t>, int64_t, T>;
template <class T>
inline T number(double x) {
  return T(Signed<T>(x));
}
template <class T>
inline T quotient(T x, T divisor) {
  if constexpr (std::is_integral_v<T>) return T(divide(Signed<T>(x), Signed<T>(divisor)));
  return x / divisor;
}

// `count` neighbours; the library's memcpy starts slowly at the size of a pixel or a row.
template <class T>
inline void copy_run(const T* from, int64_t count, T* to) {
  constexpr int64_t n = lanes<T>;
  if (count < n) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i + n <= count; i += n) store(to + i, load(from + i));
  store(to + count - n, load(from + count - n));
}

template <class T>
inline void fill_run(T value, int64_t count, T* to) {
  constexpr int64_t n = lanes<T>;
  if (count < n) {
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  const Vec<T> v = splat(value);
  for (int64_t i = 0; i + n <= count; i += n) store(to + i, v);
  store(to + count - n, v);
}

// The rows of x that a row of the result sees, and their weights.
template <class T>
struct SeenRows {
  static constexpr int kMost = 16;
  const T* row[kMost];
  T weight[kMost];
  int count = 0;

  SeenRows(const ResampleArgs& g, const T* x, const int64_t* at) {
    const LinearAxis &d = g.axis[0], &h = g.axis[1];
    for (int64_t i = d.begin[at[0]]; i < d.begin[at[0] + 1]; ++i) {
      for (int64_t j = h.begin[at[1]]; j < h.begin[at[1] + 1]; ++j) {
        row[count] = x + d.source[i] * g.x_strides[2] + h.source[j] * g.x_strides[3];
        weight[count++] = T(g.weight) * number<T>(d.weight, i) * number<T>(h.weight, j);
      }
    }
  }
};

// `Block` vectors of channels, summed over the rows and weighted.
template <class T, int Block>
struct Column {
  Vec<T> v[Block];

  Column(const SeenRows<T>& seen, int64_t offset, T weight) {
    constexpr int n = lanes<T>;
    for (int b = 0; b < Block; ++b) v[b] = seen.weight[0] * load(seen.row[0] + offset + b * n);
    for (int r = 1; r < seen.count; ++r) {
      for (int b = 0; b < Block; ++b) v[b] += seen.weight[r] * load(seen.row[r] + offset + b * n);
    }
    for (int b = 0; b < Block; ++b) v[b] *= weight;
  }
};

// Channels from c on of pixel i, which sees something.
template <class T, int Block>
inline void sum_block(const SeenRows<T>& seen, const LinearAxis& axis, int64_t i, int64_t channels,
                      int64_t c, T* y) {
  const int64_t begin = axis.begin[i], end = axis.begin[i + 1];
  const auto column = [&](int64_t k) {
    return Column<T, Block>(seen, axis.source[k] * channels + c, number<T>(axis.weight, k));
  };
  auto sums = column(begin);
  for (int64_t k = begin + 1; k < end; ++k) {
    const auto next = column(k);
    for (int b = 0; b < Block; ++b) sums.v[b] += next.v[b];
  }
  for (int b = 0; b < Block; ++b) store(y + c + b * lanes<T>, sums.v[b]);
}

template <class T>
void sum_pixels_of(const SeenRows<T>& seen, const LinearAxis& axis, int64_t channels, T* y) {
  constexpr int n = lanes<T>, block = 4;
  for (int64_t i = 0; i < axis.out; ++i, y += channels) {
    if (axis.begin[i] == axis.begin[i + 1]) {
      fill_run(T(0), channels, y);
      continue;
    }
    int64_t c = 0;
    for (; c + block * n <= channels; c += block * n)
      sum_block<T, block>(seen, axis, i, channels, c, y);
    for (; c + n <= channels; c += n) sum_block<T, 1>(seen, axis, i, channels, c, y);
    if (c < channels) sum_block<T, 1>(seen, axis, i, channels, channels - n, y);
  }
}

// Whether that is faster than row by row, of the row of y at `at`.
template <class T>
bool has_few_taps(const ResampleArgs& g, const int64_t* at) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1], &w = g.axis[2];
  const int64_t rows =
      (d.begin[at[0] + 1] - d.begin[at[0]]) * (h.begin[at[1] + 1] - h.begin[at[1]]);
  const int64_t taps = w.begin[w.out] / w.out;  // in the mean
  if (!g.channels_last || g.channels < lanes<T> || g.x_strides[1] != 1 || rows == 0 ||
      rows > SeenRows<T>::kMost || taps >= lanes<T> || rows * taps > 16)
    return false;
  return g.x_strides[4] == g.channels &&
         !(g.transposed && (g.divisor != 1 || d.divisor || h.divisor || w.divisor));
}

// The row of y at `at`, if that is faster than row by row; else answers false.
template <class T>
bool resample_pixels(const ResampleArgs& g, const T* x, const int64_t* at, T* y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!has_few_taps<T>(g, at)) return false;
    const LinearAxis& axis = g.axis[2];
    const SeenRows<T> seen(g, x, at);
    if (seen.count == 1 && seen.weight[0] == T(1) && axis.taps == 1 && axis.first == 0 &&
        axis.last == axis.out && !axis.weight) {
      for (int64_t i = 0; i < axis.out; ++i)
        copy_run(seen.row[0] + axis.source[i] * g.channels, g.channels, y + i * g.channels);
    } else {
      sum_pixels_of(seen, axis, g.channels, y);
    }
    return true;
  }
  return false;
}

}  // namespace
}  // namespace tt::cpu
