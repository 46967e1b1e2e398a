// The products of a block of pixels with the weights where channels are next to each other in the
// result: pixels are rows of the register tile of gemm_tile.h.
#pragma once
#include "cpu/conv/sums.h"

namespace tt::cpu {
namespace {

template <class T, int Rows>
void multiply_rows(const Sums<T>& s, const T* a, int64_t a_row, const Segment* segments,
                   int segment_count, const T* panel_b, int64_t column, const Stretch* stretches,
                   int count, bool add, bool last) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  Vec<T> sums[Rows][2] = {};
  for (int i = 0; i < segment_count; ++i) {
    const Segment& segment = segments[i];
    const T* b = panel_b + segment.place * cols;
    add_columns<T, Rows>(sums, a + segment.offset, a_row, 1, b, segment.count, s.g.rows - column);
  }
  const int64_t width = smaller(cols, s.g.rows - column), step = pixel_step(s.part);
  const bool biased = last && s.g.bias;
  T bias[cols];
  for (int64_t c = 0; c < width && biased; ++c) bias[c] = s.bias(column + c);
  for (int q = 0; q < count; ++q) {
    T* to = s.result(column) + stretches[q].offset;
    const Vec<T>* sum = sums[stretches[q].lane];
    for (int64_t p = 0; p < stretches[q].length; ++p, to += step, sum += 2) {
      if (width == cols) {
        Vec<T> low = add ? load(to) + sum[0] : sum[0];
        Vec<T> high = add ? load(to + n) + sum[1] : sum[1];
        if (biased) {
          low += load(bias);
          high += load(bias + n);
        }
        store(to, low);
        store(to + n, high);
      } else {
        for (int64_t c = 0; c < width; ++c) {
          const T value = add ? to[c] + sum[c / n][c % n] : sum[c / n][c % n];
          to[c] = biased ? value + bias[c] : value;
        }
      }
    }
  }
}

// Pixels whose rows of the patch matrix are `a`, in the window if they are read directly.
template <class T>
struct RowTile {
  decltype(&multiply_rows<T, kRows>) multiply;
  const T* a;
  int64_t rows;
  bool direct;
  int count;
  Stretch stretches[kRows];
};

constexpr int kTilesAtOnce = 8;

template <class T>
void row_block(const Sums<T>& s, const Block& at, T* panel, T* window_memory) {
  constexpr int64_t cols = kCols<T>;
  const int64_t first_channel = s.group * s.g.channels, sums = s.weights.order.size();
  // Few channels do not pay for a copy of pixels: tiles end where rows of pixels do.
  const bool few = at.i_end - at.i <= 2 * cols;
  Window<T> window(s.g, s.part, {true, false}, at.j, at.j_end, window_memory);
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    pack_own(s, at, b);
    const T* source = window.channels(first_channel + block.channel, block.channels);
    Segment segments[kMostSegments];
    const int segment_count = find_segments(s.part, window, block, segments);
    const Segment packed = {0, 0, block.depth()};
    const int64_t pixel = s.g.step[2] * window.strides[2];
    int64_t reach = 0;  // from a pixel to the end of what its taps see
    for (int i = 0; i < segment_count; ++i) {
      const int64_t end = segments[i].offset + segments[i].count;
      if (end > reach) reach = end;
    }
    // Two panels of weights take turns in the L1 cache, if they are large.
    const bool in_turn = few && at.i_end - at.i > cols && block.depth() >= kDepth / 3;
    const int at_once = in_turn ? kTilesAtOnce : 1;
    RowTile<T> tiles[kTilesAtOnce];
    for (int64_t j = at.j; j < at.j_end;) {
      int found = 0;
      for (; found < at_once && j < at.j_end; j += tiles[found++].rows) {
        RowTile<T>& tile = tiles[found];
        tile.rows = smaller(kRows, at.j_end - j);
        const int64_t in_row = s.part.size[2] - j % s.part.size[2];
        if (few && 2 * in_row > kRows) tile.rows = smaller(tile.rows, in_row);
        tile.multiply = choose_tile(
            tile.rows, [](auto rows) { return multiply_rows<T, decltype(rows)::value>; });
        tile.count = find_stretches(s.g, s.part, j, tile.rows, tile.stretches);
        Run runs[kRows];
        const int run_count = find_runs(s.part.size, j, tile.rows, runs);
        // Neighbours in a row are read where they are.
        tile.a = source + window.offset(runs[0]);
        tile.direct =
            run_count == 1 && window.end() - tile.a >= reach + tile_rows(tile.rows) * pixel;
        if (tile.direct) continue;
        T* rows = panel + found * kRows * kPanelRow;
        gather_rows(s.g, window, source, runs, run_count, segments, segment_count, rows);
        tile.a = rows;
      }
      for (int64_t i = at.i; i < at.i_end; i += cols) {
        for (int t = 0; t < found; ++t) {
          const RowTile<T>& tile = tiles[t];
          tile.multiply(s, tile.a, tile.direct ? pixel : kPanelRow,
                        tile.direct ? segments : &packed, tile.direct ? segment_count : 1,
                        s.weights.panel(b, i / cols), i, tile.stretches, tile.count, b > 0,
                        b + 1 == sums);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tt::cpu
