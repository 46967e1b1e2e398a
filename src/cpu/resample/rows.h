// Rows that need no scratch memory: sums of pairs of neighbours, in the order of sum_rows and
// sum_windows (resample.h); their gradient, in which each element becomes two; and copies.
#pragma once
#include "core/tables/resample.h"
#include "cpu/resample/runs.h"

namespace tt::cpu {
namespace {

// f(row of x, weight, i, j) of each that a row of the result sees: entries of the axes D and H.
template <class T, class S, class F>
void for_each_seen(const ResampleArgs& g, const S* x, const int64_t* at, const F& f) {
  const LinearAxis &d = g.axis[0], &h = g.axis[1];
  for (int64_t i = d.begin[at[0]]; i < d.begin[at[0] + 1]; ++i)
    for (int64_t j = h.begin[at[1]]; j < h.begin[at[1] + 1]; ++j)
      f(x + d.source[i] * g.x_strides[2] + h.source[j] * g.x_strides[3],
        T(g.weight) * number<T>(d.weight, i) * number<T>(h.weight, j), i, j);
}

// The rows of x that a row of the result sees, and their weights.
template <class S>
struct SeenRows {
  using T = Computed<S>;
  static constexpr int kMost = 16;
  const S* row[kMost];
  T weight[kMost];
  int count = 0;

  SeenRows(const ResampleArgs& g, const S* x, const int64_t* at) {
    for_each_seen<T>(g, x, at, [this](const S* seen, T its_weight, int64_t, int64_t) {
      row[count] = seen;
      weight[count++] = its_weight;
    });
  }
};

enum class RowKind { Any, Sums, Twice, Copy };

// Whether every output is an input.
inline bool copies(const LinearAxis& axis) {
  for (int64_t i = 0; i <= axis.out; ++i)
    if (axis.begin[i] != i) return false;
  return !axis.weight && !axis.divisor;
}

template <class S>
RowKind kind_of_rows(const ResampleArgs& g) {
  const LinearAxis& w = g.axis[2];
  if (!g.channels_last && g.x_strides[4] == 1 && w.repeat == 1 && w.step == 1 && w.first < w.last &&
      copies(g.axis[0]) && copies(g.axis[1]) && copies(w) && g.weight == 1 && g.divisor == 1)
    return RowKind::Copy;
  if (!std::is_floating_point_v<Computed<S>> || g.channels_last || g.x_strides[4] != 1 ||
      w.first != 0 || w.last != w.out || w.weight || w.divisor)
    return RowKind::Any;
  if (w.repeat == 2) return RowKind::Twice;
  return w.taps == 2 && w.step == 2 && !g.transposed ? RowKind::Sums : RowKind::Any;
}

template <int Lanes, class S>
inline void sum_pairs(const SeenRows<S>& seen, Computed<S> divisor, int64_t i, S* y) {
  using T = Computed<S>;
  using Form = PairLanes<T, Lanes>;
  using V = typename Form::V;
  const Form form;
  V low{}, high{};
  for (int r = 0; r < seen.count; ++r) {
    const S* from = seen.row[r] + 2 * i;
    const V first = load_few<S, Lanes>(from), second = load_few<S, Lanes>(from + Lanes);
    low = r == 0 ? seen.weight[r] * first : low + seen.weight[r] * first;
    high = r == 0 ? seen.weight[r] * second : high + seen.weight[r] * second;
  }
  V sum;
  if constexpr (Lanes == 1) {
    sum = low + high;
  } else {
    sum = __builtin_shuffle(low, high, form.even) + __builtin_shuffle(low, high, form.odd);
  }
  if (divisor != T(1)) sum /= divisor;
  store_few(y + i, sum);
}

template <int Lanes, class S>
inline void put_twice(const S* x, Computed<S> weight, Computed<S> divisor, int64_t i, S* y) {
  using T = Computed<S>;
  using Form = PairLanes<T, Lanes>;
  using V = typename Form::V;
  const Form form;
  V v = load_few<S, Lanes>(x + i);
  v *= weight;
  if (divisor != T(1)) v /= divisor;
  if constexpr (Lanes == 1) {
    y[2 * i] = y[2 * i + 1] = S(v[0]);
  } else {
    const V low = __builtin_shuffle(v, v, form.low), high = __builtin_shuffle(v, v, form.high);
    store_few(y + 2 * i, low);
    store_few(y + 2 * i + Lanes, high);
  }
}

template <class T>
void copy_row(const LinearAxis& axis, const T* x, T* y) {
  for (int64_t i = 0; i < axis.first; ++i) y[i] = x[axis.source[i]];
  copy_run(x + axis.source[axis.first], axis.last - axis.first, y + axis.first);
  for (int64_t i = axis.last; i < axis.out; ++i) y[i] = x[axis.source[i]];
}

// The row of y at `at`; answers false if it must be computed in another way.
template <class S>
bool resample_row_as(const ResampleArgs& g, RowKind kind, const S* x, const int64_t* at, S* y) {
  using T = Computed<S>;
  const LinearAxis &d = g.axis[0], &h = g.axis[1], &w = g.axis[2];
  if (kind == RowKind::Copy) {
    copy_row(w, x + d.source[at[0]] * g.x_strides[2] + h.source[at[1]] * g.x_strides[3], y);
    return true;
  }
  if constexpr (std::is_floating_point_v<T>) {
    const int64_t i = d.begin[at[0]], j = h.begin[at[1]];
    const int64_t rows = (d.begin[at[0] + 1] - i) * (h.begin[at[1] + 1] - j);
    if (rows == 0 || rows > (kind == RowKind::Sums ? SeenRows<S>::kMost : 1)) return false;
    const SeenRows<S> seen(g, x + w.source[0], at);
    if (kind == RowKind::Sums) {
      const T divisor = T(g.divisor) * number<T>(d.divisor, at[0]) * number<T>(h.divisor, at[1]);
      by_lanes<T, true>(w.out, [&](auto lanes, int64_t k) {
        sum_pairs<decltype(lanes)::value>(seen, divisor, k, y);
      });
    } else {
      const int64_t p = g.transposed ? d.source[i] : at[0], q = g.transposed ? h.source[j] : at[1];
      const T divisor = T(g.divisor) * number<T>(d.divisor, p) * number<T>(h.divisor, q);
      by_lanes<T, true>(w.out / 2, [&](auto lanes, int64_t k) {
        put_twice<decltype(lanes)::value>(seen.row[0], seen.weight[0], divisor, k, y);
      });
    }
    return true;
  }
  return false;
}

}  // namespace
}  // namespace tt::cpu
