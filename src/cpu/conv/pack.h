// The weights of a convolution as panels, in the order of its sums.
#pragma once
#include "cpu/conv/window.h"

namespace tt::cpu {
namespace {

// Panels of `width` rows of w, one after another for each block of the sum: packed once for all
// pixels or, if those are one block, by each task for its own rows and the block of the sum at
// hand. Where pixels are rows, weights are columns of the product.

template <class T>
struct Weights {
  T* panels;
  SumOrder order;
  int64_t slot;  // elements between two panels
  int64_t per_block;
  bool turned;  // pixels are rows
  bool each;    // packed by each task
  int64_t width() const { return turned ? kCols<T> : kRows; }
  T* panel(int64_t block, int64_t index) const {
    return panels + ((each ? 0 : block * per_block) + index) * slot;
  }
  int64_t group_size() const { return order.size() * per_block * slot; }
};

// Rows of a panel of a product whose rows from i on are left.
inline int tile_rows(int64_t left) {
  return left > kRows * 2 / 3 ? kRows
         : left > kRows / 2   ? kRows * 2 / 3
         : left > kRows / 3   ? kRows / 2
                              : kRows / 3;
}

// The panel of rows [i, i + Width) of a group, in one block of the sum.
template <class T, int Width>
void pack_weights(const ConvSum& g, const ConvPart& part, const SumBlock& block, int64_t group,
                  int64_t i, T* panel) {
  const T* weight = static_cast<const T*>(g.weight);
  const int64_t start =
      group * g.weight_group + i * g.weight_row + block.channel * g.weight_channel;
  for (int64_t t = 0; t < block.taps; ++t) {
    const int64_t offset = start + part.taps[block.tap + t].weight;
    pack<T, Width>(panel + t * block.channels * Width, weight + offset, g.weight_channel,
                   g.weight_row, block.channels, g.rows - i, g.weight_extent - offset);
  }
}

// The same where the taps of a channel lie side by side in w: some vectors of each row at a time
// are read, and transposed.
template <class T, int Width>
void pack_neighbours(const ConvSum& g, const ConvPart& part, const SumBlock& at, int64_t group,
                     int64_t i, T* panel) {
  constexpr int n = lanes<T>;
  const int64_t used = smaller(Width, g.rows - i);
  const bool all = g.weight_channel == at.taps;  // channels follow one another, too
  const int64_t length = all ? at.depth() : at.taps;
  for (int64_t from = 0; from < (all ? 1 : at.channels); ++from) {
    const int64_t start = group * g.weight_group + i * g.weight_row + part.taps[at.tap].weight +
                          (at.channel + from) * g.weight_channel;
    int64_t tap = 0, channel = from;
    for (int64_t m = 0; m < length; m += n) {
      const int64_t count = smaller(n, length - m);
      const T* rows = static_cast<const T*>(g.weight) + start + m;
      const bool whole = start + m + (used - 1) * g.weight_row + n <= g.weight_extent;
      Vec<T> block[n] = {};
#pragma GCC unroll 16
      for (int r = 0; r < Width; ++r) {
        const T* row = rows + (r < used ? r : 0) * g.weight_row;
        block[r] = whole ? load(row) : load_partial(row, count);
        __builtin_prefetch(row + (all ? 4 * n : 8 * g.weight_channel));
      }
      transpose<T>(block);
#pragma GCC unroll 16
      for (int j = 0; j < n; ++j) {
        if (j >= count) break;
        T* to = panel + (tap * at.channels + channel) * Width;
        __builtin_memcpy(to, &block[j], Width * sizeof(T));
        if (++tap == at.taps) {
          tap = 0;
          ++channel;
        }
      }
    }
  }
}

template <class T, int Width>
void pack_rows(const ConvSum& g, const ConvPart& part, const SumBlock& block, int64_t group,
               int64_t i, T* panel) {
  if constexpr (Width <= lanes<T>) {
    bool neighbours = part.tap_count > 2;
    for (int64_t t = 0; t < part.tap_count; ++t) {
      neighbours = neighbours && part.taps[t].weight == part.taps[0].weight + t;
    }
    if (neighbours) return pack_neighbours<T, Width>(g, part, block, group, i, panel);
  }
  pack_weights<T, Width>(g, part, block, group, i, panel);
}

// What function_of(constant of rows) answers for a panel of `rows` rows or less.
template <class F>
auto choose_tile(int64_t rows, const F& function_of) {
  const int tile = tile_rows(rows);
  return tile == kRows           ? function_of(std::integral_constant<int, kRows>())
         : tile == kRows * 2 / 3 ? function_of(std::integral_constant<int, kRows * 2 / 3>())
         : tile == kRows / 2     ? function_of(std::integral_constant<int, kRows / 2>())
                                 : function_of(std::integral_constant<int, kRows / 3>());
}

// The panel of rows from i on, in block b of the sum.
template <class T>
void pack_panel(const ConvSum& g, const ConvPart& part, const Weights<T>& weights, int64_t group,
                int64_t b, int64_t i) {
  const auto rows_of = [](auto width) { return pack_rows<T, decltype(width)::value>; };
  const auto pack = weights.turned ? pack_weights<T, kCols<T>> : choose_tile(g.rows - i, rows_of);
  pack(g, part, weights.order.at(b), group, i, weights.panel(b, i / weights.width()));
}

}  // namespace
}  // namespace tt::cpu
