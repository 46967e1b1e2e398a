// Max pooling: vectors of outputs that lie side by side, which are a stretch of a row or, where
// channels come last, the channels of a pixel.
#pragma once
#include "core/tables/pool.h"
#include "cpu/infra/parallel.h"
#include "cpu/pool/lanes.h"

namespace tt::cpu {
namespace {

// The taps of a window that are inside of x.
struct Box {
  int64_t lo[3], hi[3];
};

inline Box box_of(const MaxPoolArgs& g, const int64_t* at) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    box.lo[d] = g.axis[d].lo[at[d]];
    box.hi[d] = g.axis[d].hi[at[d]];
  }
  return box;
}

// The taps of the whole window if they all are inside, which one loop is quicker to visit than
// three; else 0.
inline int64_t taps_if_all(const MaxPoolArgs& g, const Box& box) {
  int64_t taps = 1;
  for (int d = 0; d < 3; ++d) {
    if (box.hi[d] - box.lo[d] != g.axis[d].taps) return 0;
    taps *= g.axis[d].taps;
  }
  return taps;
}

// Calls f(tap) for the taps in a box.
template <class F>
inline void for_each_tap(const MaxPoolArgs& g, const Box& box, const F& f) {
  for (int64_t d = box.lo[0]; d < box.hi[0]; ++d) {
    for (int64_t h = box.lo[1]; h < box.hi[1]; ++h) {
      const int64_t row = (d * g.axis[1].taps + h) * g.axis[2].taps;
      for (int64_t w = box.lo[2]; w < box.hi[2]; ++w) f(row + w);
    }
  }
}

// Offset of a window's tap 0, which may be outside of x.
__attribute__((always_inline)) inline int64_t window_offset(const MaxPoolArgs& g, int64_t n,
                                                            int64_t c, const int64_t* at) {
  return n * g.x_strides[0] + c * g.x_strides[1] + g.axis[0].start[at[0]] * g.x_strides[2] +
         g.axis[1].start[at[1]] * g.x_strides[3] + g.axis[2].start[at[2]] * g.x_strides[4];
}

inline int64_t offset_of(const int64_t* strides, int64_t n, int64_t c, const int64_t* at) {
  return n * strides[0] + c * strides[1] + at[0] * strides[2] + at[1] * strides[3] +
         at[2] * strides[4];
}

// `count` outputs, of windows `step` apart.
template <class S, class W, int Lanes, int Step>
void max_lanes(const MaxPoolArgs& g, const Box& box, const S* x, int64_t step, int64_t count, S* y,
               W* where) {
  using T = Computed<S>;
  using V = Few<T, Lanes>;
  using M = decltype(V{} < V{});
  using E = typename Element<M>::type;
  using Ids = typename VecOf<W, Lanes* int(sizeof(W))>::type;
  const int64_t taps_h = g.axis[1].taps, taps_w = g.axis[2].taps, all = taps_if_all(g, box);
  for (int64_t i = 0; i < count; i += Lanes) {
    if (i + Lanes > count) i = count - Lanes;  // some of them once more
    V best = broadcast<V>(lowest_of<T>());
    M id = broadcast<M>(E((box.lo[0] * taps_h + box.lo[1]) * taps_w + box.lo[2]));
    const auto see = [&](int64_t tap) {
      const V v = load_steps<S, Lanes, Step>(x + g.tap[tap] + i * step, step);
      const M take = (v > best) | (v != v);
      best = take ? v : best;
      id = take ? broadcast<M>(E(tap)) : id;
    };
    for (int64_t tap = 0; tap < all; ++tap) see(tap);
    if (!all) for_each_tap(g, box, see);
    store_few(y + i, best);
    const Ids ids = __builtin_convertvector(id, Ids);
    __builtin_memcpy(where + i, &ids, sizeof ids);
  }
}

// A single output, whose taps along W may lie side by side.
template <class S, class W>
void max_one(const MaxPoolArgs& g, const Box& box, const S* x, S* y, W* where) {
  using T = Computed<S>;
  constexpr int n = lanes<T>;
  using M = Mask<T>;
  const int64_t taps_h = g.axis[1].taps, taps_w = g.axis[2].taps;
  const int64_t step = g.axis[2].step * g.x_strides[4];
  T best = lowest_of<T>();
  int64_t id = (box.lo[0] * taps_h + box.lo[1]) * taps_w + box.lo[2];
  for (int64_t d = box.lo[0]; d < box.hi[0]; ++d) {
    for (int64_t h = box.lo[1]; h < box.hi[1]; ++h) {
      const int64_t row = (d * taps_h + h) * taps_w;
      const S* from = x + g.tap[row];
      int64_t w = box.lo[2];
      if (step == 1 && box.hi[2] - w >= 2 * n) {
        Vec<T> bests = splat(lowest_of<T>());
        M ids{}, next{};
        for (int k = 0; k < n; ++k) next[k] = row + w + k;
        for (; w + n <= box.hi[2]; w += n, next += n) {
          const Vec<T> v = Whole<T>().load(from + w);
          const M take = (v > bests) | (v != v);
          bests = take ? v : bests;
          ids = take ? next : ids;
        }
        for (int k = 0; k < n; ++k) {  // the last NaN, or the first of the largest
          const T v = bests[k];
          const bool equal = (v == best && ids[k] < id) || (v != v && best != best && ids[k] > id);
          if (v > best || (v != v && best == best) || equal) {
            best = v;
            id = ids[k];
          }
        }
      }
      for (; w < box.hi[2]; ++w) {
        const T v = static_cast<T>(from[w * step]);
        if (v > best || v != v) {
          best = v;
          id = row + w;
        }
      }
    }
  }
  *y = static_cast<S>(best);
  *where = W(id);
}

template <class S, class W, int Step>
void max_of_width(const MaxPoolArgs& g, const Box& box, const S* x, int64_t step, int64_t count,
                  S* y, W* where) {
  constexpr int n = lanes<Computed<S>>, half = n >= 4 ? n / 2 : n, quarter = n >= 8 ? n / 4 : n;
  const auto by = [&](auto run) { run(g, box, x, step, count, y, where); };
  if (count >= n)
    by(max_lanes<S, W, n, Step>);
  else if (count >= half)
    by(max_lanes<S, W, half, Step>);
  else if (count >= quarter)
    by(max_lanes<S, W, quarter, Step>);
  else
    for (int64_t i = 0; i < count; ++i) max_one(g, box, x + i * step, y + i, where + i);
}

template <class T, class W>
void max_run(const MaxPoolArgs& g, const Box& box, const T* x, int64_t step, int64_t count, T* y,
             W* where) {
  if (count <= 0) return;
  const auto run = step == 1   ? max_of_width<T, W, 1>
                   : step == 2 ? max_of_width<T, W, 2>
                               : max_of_width<T, W, 0>;
  run(g, box, x, step, count, y, where);
}

// What is worth code of its own.
template <class T, class W>
constexpr bool is_usual = is_float_type<T> && sizeof(W) == 1;

// Whether windows are pairs of neighbours along W that lie side by side.
template <class T, class W>
bool sees_pairs(const MaxPoolArgs& g) {
  const WindowAxis& w = g.axis[2];
  return is_usual<T, W> && !g.channels_last && w.taps == 2 && w.stride == 2 && w.step == 1 &&
         w.first == 0 && w.last == w.out && g.x_strides[4] == 1 && g.y_strides[4] == 1 &&
         g.where_strides[4] == 1;
}

// Outputs [i, i + Lanes) of a row of such windows, which see `rows` pairs each.
template <int Lanes, class S, class W>
inline void max_pairs(const int64_t* tap, int64_t rows, const S* x, int64_t i, S* y, W* where) {
  using Form = PairLanes<Computed<S>, Lanes>;
  using V = typename Form::V;
  using M = typename Form::M;
  using E = typename Form::E;
  using Ids = typename VecOf<W, Lanes* int(sizeof(W))>::type;
  const Form form;
  V best{};
  M id{};
  for (int64_t row = 0; row < rows; ++row) {
    const S* from = x + tap[2 * row] + 2 * i;
    const V low = load_few<S, Lanes>(from), high = load_few<S, Lanes>(from + Lanes);
    const V even = __builtin_shuffle(low, high, form.even);
    const V odd = __builtin_shuffle(low, high, form.odd);
    if (row == 0) best = even;
    const M take = (even > best) | (even != even);
    best = take ? even : best;
    id = take ? broadcast<M>(E(2 * row)) : id;
    const M next = (odd > best) | (odd != odd);
    best = next ? odd : best;
    id = next ? broadcast<M>(E(2 * row + 1)) : id;
  }
  store_few(y + i, best);
  const Ids ids = __builtin_convertvector(id, Ids);
  __builtin_memcpy(where + i, &ids, sizeof ids);
}

// A row of y: outputs along W of a channel, or the channels of all pixels along W.
template <class T, class W>
__attribute__((always_inline)) inline void max_row(const MaxPoolArgs& g, bool pairs, int64_t n,
                                                   int64_t c, int64_t* at) {
  const T* x = static_cast<const T*>(g.x);
  T* y = static_cast<T*>(g.y);
  W* where = static_cast<W*>(g.where);
  const WindowAxis& axis = g.axis[2];
  const Box box = box_of(g, at);  // along D and H
  const int64_t rows = (box.hi[0] - box.lo[0]) * (box.hi[1] - box.lo[1]);
  if (is_usual<T, W> && pairs && rows == g.axis[0].taps * g.axis[1].taps) {
    x += window_offset(g, n, c, at);
    y += offset_of(g.y_strides, n, c, at);
    where += offset_of(g.where_strides, n, c, at);
    return by_lanes<Computed<T>, true>(axis.out, [&](auto lanes, int64_t i) {
      max_pairs<decltype(lanes)::value>(g.tap, rows == 2 ? 2 : rows, x, i, y, where);
    });
  }
  const auto run = [&](int64_t w, int64_t count, int64_t step) __attribute__((always_inline)) {
    at[2] = w;
    max_run(g, box_of(g, at), x + window_offset(g, n, c, at), step, count,
            y + offset_of(g.y_strides, n, c, at), where + offset_of(g.where_strides, n, c, at));
  };
  if (g.channels_last) {
    for (int64_t w = 0; w < axis.out; ++w) run(w, g.channels, g.x_strides[1]);
    return;
  }
  for (int64_t w = 0; w < axis.first; ++w) run(w, 1, 1);
  if (axis.first < axis.last) run(axis.first, axis.last - axis.first, axis.stride * g.x_strides[4]);
  for (int64_t w = axis.last; w < axis.out; ++w) run(w, 1, 1);
}

template <class T, class W>
void max_pool_in(const MaxPoolArgs& g) {
  const int64_t channels = g.channels_last ? 1 : g.channels;
  const int64_t rows = g.batch * channels * g.axis[0].out * g.axis[1].out;
  const int64_t row = g.axis[2].out * (g.channels / channels);
  const int64_t work = row * g.axis[0].taps * g.axis[1].taps * g.axis[2].taps;
  const bool pairs = sees_pairs<T, W>(g);
  parallel_for(rows, kGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    for (Rows r(begin, channels, g.axis[0].out, g.axis[1].out); begin < end; ++begin, r.next())
      max_row<T, W>(g, pairs, r.n, r.c, r.at);
  });
}

template <class T>
void max_pool(const MaxPoolArgs& g) {
  g.wide ? max_pool_in<T, int32_t>(g) : max_pool_in<T, uint8_t>(g);
}

template <class T, class W>
void gather_in(const MaxPoolArgs& g) {
  const int64_t rows = g.batch * g.channels * g.axis[0].out * g.axis[1].out;
  parallel_for(rows, kGrain / (g.axis[2].out + 1) + 1, [&](int64_t begin, int64_t end) {
    for (Rows r(begin, g.channels, g.axis[0].out, g.axis[1].out); begin < end; ++begin, r.next()) {
      const T* x = static_cast<const T*>(g.x) + window_offset(g, r.n, r.c, r.at);
      T* y = static_cast<T*>(g.y) + offset_of(g.y_strides, r.n, r.c, r.at);
      const W* where = static_cast<const W*>(g.where) + offset_of(g.where_strides, r.n, r.c, r.at);
      const int64_t* start = g.axis[2].start;
      for (int64_t w = 0; w < g.axis[2].out; ++w)
        y[w * g.y_strides[4]] =
            x[(start[w] - start[0]) * g.x_strides[4] + g.tap[where[w * g.where_strides[4]]]];
    }
  });
}

template <class T>
void max_gather(const MaxPoolArgs& g) {
  g.wide ? gather_in<T, int32_t>(g) : gather_in<T, uint8_t>(g);
}

}  // namespace
}  // namespace tt::cpu
