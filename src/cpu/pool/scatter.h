// The gradient of max pooling: y's elements go to where their windows have the largest.
#pragma once
#include "cpu/pool/max.h"
#include "cpu/resample/runs.h"

namespace tt::cpu {
namespace {

// Channels come last: `count` of them, at least a vector, at one pixel, which no other window sees:
// its zeros are put too.
template <class S, class W>
void scatter_pixel(const MaxPoolArgs& g, const Box& box, const S* y, const W* where, int64_t count,
                   S* x) {
  using T = Computed<S>;
  constexpr int n = lanes<T>;
  using Ids = typename VecOf<W, n* int(sizeof(W))>::type;
  const int64_t all = taps_if_all(g, box);
  const auto put = [&](int64_t i) __attribute__((always_inline)) {
    Ids ids;
    __builtin_memcpy(&ids, where + i, sizeof ids);
    const Mask<T> at = __builtin_convertvector(ids, Mask<T>);
    const Vec<T> v = Whole<T>().load(y + i);
    const auto write = [&](int64_t tap) {
      Whole<T>().store(x + g.tap[tap] + i,
                       at == typename Element<Mask<T>>::type(tap) ? v : Vec<T>{});
    };
    for (int64_t tap = 0; tap < all; ++tap) write(tap);
    if (!all) for_each_tap(g, box, write);
  };
  int64_t i = 0;
  for (; i + n <= count; i += n) put(i);
  if (i < count) put(count - n);
}

// Lanes outputs of windows that see pairs along W: the pairs of taps `tap` and tap + 1.
template <int Lanes, class S, class W>
struct Pairs {
  using Form = PairLanes<Computed<S>, Lanes>;
  using V = typename Form::V;
  using M = typename Form::M;
  using E = typename Form::E;
  const Form form;
  V y;
  M at;

  Pairs(const S* from, const W* where) : y(load_few<S, Lanes>(from)) {
    typename VecOf<W, Lanes* int(sizeof(W))>::type ids;
    __builtin_memcpy(&ids, where, sizeof ids);
    at = __builtin_convertvector(ids, M);
  }

  void put(int64_t tap, S* to) const {
    const V even = at == E(tap) ? y : V{}, odd = at == E(tap + 1) ? y : V{};
    const V first = __builtin_shuffle(even, odd, form.low);
    const V second = __builtin_shuffle(even, odd, form.high);
    store_few(to, first);
    store_few(to + Lanes, second);
  }
};

// A row of such windows: `count` pairs of x per tap of the other dims.
template <class T, class W>
void scatter_pairs(const MaxPoolArgs& g, const Box& box, const T* y, const W* where, int64_t count,
                   T* x) {
  by_lanes<Computed<T>, true>(count, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
    const Pairs<decltype(lanes)::value, T, W> pairs(y + i, where + i);
    for (int64_t d = box.lo[0]; d < box.hi[0]; ++d) {
      for (int64_t h = box.lo[1]; h < box.hi[1]; ++h) {
        const int64_t tap = (d * g.axis[1].taps + h) * 2;
        pairs.put(tap, x + g.tap[tap] + 2 * i);
      }
    }
  });
}

// The windows of a row, every other one first: an addition to an element is slow right after
// another to the same.
template <class F>
inline void for_each_window(int64_t count, const F& f) {
  for (int64_t w = 0; w < count; w += 2) f(w);
  for (int64_t w = 1; w < count; w += 2) f(w);
}

template <class S>
inline void add_to(S& x, S y) {
  x = static_cast<S>(static_cast<Computed<S>>(x) + static_cast<Computed<S>>(y));
}

// How a plane, or a block of channels where they come last, is scattered.
enum class Scatter { Pairs, Pixels, Singly };

// The row at[0], at[1] of y. Pointers to the plane or the block.
template <class T, class W>
void scatter_row(const MaxPoolArgs& g, Scatter how, const T* y, const W* where, T* x, int64_t count,
                 int64_t* at) {
  const WindowAxis& axis = g.axis[2];
  y += at[0] * g.y_strides[2] + at[1] * g.y_strides[3];
  where += at[0] * g.where_strides[2] + at[1] * g.where_strides[3];
  x += g.axis[0].start[at[0]] * g.x_strides[2] + g.axis[1].start[at[1]] * g.x_strides[3];
  at[2] = 0;
  const int64_t y_step = g.y_strides[4], where_step = g.where_strides[4], x_step = g.x_strides[4];
  const int64_t *start = axis.start, *tap = g.tap;
  if constexpr (is_usual<T, W>) {
    if (how == Scatter::Pairs) return scatter_pairs(g, box_of(g, at), y, where, axis.out, x);
    if (how == Scatter::Pixels) {
      return for_each_window(axis.out, [&](int64_t w) {
        at[2] = w;
        scatter_pixel(g, box_of(g, at), y + w * y_step, where + w * where_step, count,
                      x + start[w] * x_step);
      });
    }
  }
  if (count == 1)
    return for_each_window(axis.out, [=](int64_t w) {
      add_to(x[start[w] * x_step + tap[where[w * where_step]]], y[w * y_step]);
    });
  const int64_t between = g.y_strides[1];  // channels
  for_each_window(axis.out, [=](int64_t w) {
    T* to = x + start[w] * x_step;
    for (int64_t c = 0; c < count; ++c)
      add_to(to[tap[where[w * where_step + c]] + c], y[w * y_step + c * between]);
  });
}

constexpr int64_t kChannelBlock = 64;  // of a task, where channels come last

// Zeros in a plane of x, of `count` channels where they come last.
template <class T>
void clear(const MaxPoolArgs& g, T* x, int64_t count) {
  const int64_t pixels = g.axis[0].in * g.axis[1].in * g.axis[2].in;
  const int64_t run = !g.channels_last || count == g.channels ? pixels * count : count;
  for (int64_t i = 0; i < pixels * count; i += run)
    __builtin_memset(static_cast<void*>(x + i / count * g.channels), 0,
                     static_cast<size_t>(run) * sizeof(T));
}

template <class T, class W>
void scatter_in(const MaxPoolArgs& g) {
  bool overlaps = false, covers = true;
  for (const WindowAxis& axis : g.axis) {
    overlaps = overlaps || axis.overlaps;
    covers = covers && axis.first == 0 && axis.last == axis.out && axis.step == 1 &&
             axis.stride * axis.out == axis.in && axis.taps == axis.stride;
  }
  const bool pairs = !overlaps && sees_pairs<T, W>(g);
  const bool vectors = is_usual<T, W> && !overlaps && g.channels_last && g.y_strides[1] == 1;
  const int64_t block = g.channels_last ? kChannelBlock : 1;
  const int64_t blocks = (g.channels + block - 1) / block;
  const int64_t plane = g.axis[0].in * g.axis[1].in * g.axis[2].in * block;
  parallel_for(g.batch * blocks, kGrain / (plane + 1) + 1, [&](int64_t begin, int64_t end) {
    int64_t n = begin / blocks, c = begin % blocks * block;
    for (; begin < end; ++begin, c += block) {
      if (c >= g.channels) c = 0, ++n;
      const int64_t count = c + block <= g.channels ? block : g.channels - c;
      T* x = static_cast<T*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1];
      const T* y = static_cast<const T*>(g.y) + n * g.y_strides[0] + c * g.y_strides[1];
      const W* where =
          static_cast<const W*>(g.where) + n * g.where_strides[0] + c * g.where_strides[1];
      const Scatter how = pairs                                    ? Scatter::Pairs
                          : vectors && count >= lanes<Computed<T>> ? Scatter::Pixels
                                                                   : Scatter::Singly;
      // What writes all of x, zeros too, needs none before.
      if (!covers || how == Scatter::Singly) clear(g, x, count);
      int64_t at[3];
      for (at[0] = 0; at[0] < g.axis[0].out; ++at[0]) {
        for (at[1] = 0; at[1] < g.axis[1].out; ++at[1])
          scatter_row(g, how, y, where, x, g.channels_last ? count : 1, at);
      }
    }
  });
}

template <class T>
void max_scatter(const MaxPoolArgs& g) {
  g.wide ? scatter_in<T, int32_t>(g) : scatter_in<T, uint8_t>(g);
}

}  // namespace
}  // namespace tt::cpu
