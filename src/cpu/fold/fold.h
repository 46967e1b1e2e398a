// Images as columns, one per window, and back.
#pragma once
#include "core/tables/fold.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

// a / b rounded up; a sum of the two might overflow.
inline int64_t rounded_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// Windows along W whose tap w is inside of the image: [begin, end).
struct Inside {
  int64_t begin, end, first;  // `first`: where the first of them looks, if there is one

  Inside(const FoldArgs& g, int d, int64_t tap) {
    const int64_t shift = tap * g.dilation[d] - g.padding[d], stride = g.stride[d];
    begin = shift < 0 ? rounded_up(-shift, stride) : 0;
    end = g.size[d] > shift ? rounded_up(g.size[d] - shift, stride) : 0;
    if (end > g.windows[d]) end = g.windows[d];
    if (begin > end) begin = end;
    first = begin < end ? begin * stride + shift : 0;
  }
};

// Calls row(image, column, inside) for every row of windows, of one channel and tap.
template <class T, class Row>
void for_each_row(const FoldArgs& g, int64_t n, int64_t c, int64_t tap, const Row& row) {
  const Inside h(g, 0, tap / g.taps[1]), w(g, 1, tap % g.taps[1]);
  T* image = static_cast<T*>(g.image) + n * g.image_strides[0] + c * g.image_strides[1] +
             w.first * g.image_strides[3];
  T* column = static_cast<T*>(g.columns) + n * g.column_strides[0] +
              (c * g.taps[0] * g.taps[1] + tap) * g.column_strides[1];
  for (int64_t i = 0; i < g.windows[0]; ++i) {
    T* const to = column + i * g.windows[1] * g.column_strides[2];
    if (h.begin <= i && i < h.end)
      row(image + (h.first + (i - h.begin) * g.stride[0]) * g.image_strides[2], to, &w);
    else
      row(image, to, nullptr);
  }
}

template <class T>
void unfold(const FoldArgs& g) {
  const int64_t taps = g.taps[0] * g.taps[1], rows = g.batch * g.channels * taps;
  const int64_t work = g.windows[0] * g.windows[1] + 1;
  // Two windows inside are less than the image apart; the stride of one alone might overflow.
  const int64_t step = (g.stride[1] < g.size[1] ? g.stride[1] : g.size[1]) * g.image_strides[3];
  parallel_for(rows, kGrain / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for_each_row<T>(g, r / taps / g.channels, r / taps % g.channels, r % taps,
                      [&](const T* image, T* to, const Inside* w) {
                        const int64_t first = w ? w->begin : g.windows[1];
                        const int64_t last = w ? w->end : g.windows[1];
                        for (int64_t i = 0; i < first; ++i) to[i] = T(0);
                        if (step == 1) {
                          for (int64_t i = first; i < last; ++i) to[i] = image[i - first];
                        } else {
                          for (int64_t i = first; i < last; ++i) to[i] = image[(i - first) * step];
                        }
                        for (int64_t i = last; i < g.windows[1]; ++i) to[i] = T(0);
                      });
    }
  });
}

template <class T>
void fold(const FoldArgs& g) {
  const int64_t taps = g.taps[0] * g.taps[1], plane = g.size[0] * g.size[1];
  const int64_t step = g.column_strides[2], stride = g.stride[1];
  parallel_for(g.batch * g.channels, kGrain / (plane + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t n = r / g.channels, c = r % g.channels;
      T* image = static_cast<T*>(g.image) + n * g.image_strides[0] + c * g.image_strides[1];
      for (int64_t i = 0; i < plane; ++i) image[i] = T(0);
      for (int64_t tap = 0; tap < taps; ++tap) {
        for_each_row<T>(g, n, c, tap, [&](T* to, const T* from, const Inside* w) {
          if (!w) return;
          const int64_t count = w->end - w->begin;
          from += w->begin * step;
          if (step == 1 && stride == 1) {
            for (int64_t i = 0; i < count; ++i) to[i] += from[i];
          } else {
            for (int64_t i = 0; i < count; ++i) to[i * stride] += from[i * step];
          }
        });
      }
    }
  });
}

}  // namespace
}  // namespace tt::cpu
