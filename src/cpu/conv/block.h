// The products of a block of pixels with the weights, pixels being columns of the register tile of
// gemm_tile.h: they meet the weights in panels, or in the window where a tile is two vectors of it.
#pragma once
#include "cpu/conv/columns.h"
#include "cpu/conv/sums.h"

namespace tt::cpu {
namespace {

// Pixels whose panels are gathered before they meet all rows: more would leave the caches.
constexpr int64_t kPixelsAtOnce = 64;

// to = sums (or +=, if `add`) + more for elements [p, length), as far as whole vectors go; answers
// how far.
template <class T, int Bytes>
int64_t add_vectors(T* to, const T* sums, int64_t p, int64_t length, bool add, T more) {
  using V = typename VecOf<T, Bytes>::type;
  constexpr int n = Bytes / int(sizeof(T));
  for (; p + n <= length; p += n) {
    V x, old;
    __builtin_memcpy(&x, sums + p, sizeof x);
    if (add) {
      __builtin_memcpy(&old, to + p, sizeof old);
      x = old + x;
    }
    x += more;
    __builtin_memcpy(to + p, &x, sizeof x);
  }
  return p;
}

// Rows [i, i + rows) of a tile of sums to (or onto) the pixels that are its columns.
template <class T>
void store_columns(const Sums<T>& s, const T* sums, int64_t i, int64_t rows,
                   const Stretch* stretches, int count, bool add, bool last) {
  const int64_t step = pixel_step(s.part);
  T bias[kRows] = {};
  for (int64_t r = 0; r < rows && last && s.g.bias; ++r) bias[r] = s.bias(i + r);
  for (int q = 0; q < count; ++q) {
    T* to = s.result(i) + stretches[q].offset;
    const T* sum = sums + stretches[q].lane;
    const int64_t length = stretches[q].length;
    for (int64_t r = 0; r < rows; ++r, to += s.g.result_row, sum += kCols<T>) {
      int64_t p = 0;
      if (step == 1) {
        p = add_vectors<T, kVectorBytes>(to, sum, p, length, add, bias[r]);
        p = add_vectors<T, kVectorBytes / 2>(to, sum, p, length, add, bias[r]);
      } else if (step == 2 && !add) {
        using All = std::make_integer_sequence<int, lanes<T>>;
        for (; p + lanes<T> / 2 <= length; p += lanes<T> / 2) {
          store_even_lanes(to + 2 * p, load_twice<T>(sum + p, All()) + bias[r]);
        }
      }
      for (; p < length; ++p) {
        T& out = to[p * step];
        out = (add ? out + sum[p] : sum[p]) + bias[r];
      }
    }
  }
}

// Where the pixels of a tile are read: in a panel at `low` or, with offsets of the rows of the
// patch matrix, in two strips of a window, each of L neighbours.
template <class T>
struct Pixels {
  const T *low, *high;
  const int64_t* offsets;
};

// sum (Rows, kCols) += panel a (depth, Rows)^T times the strips, pixels being `Along` apart.
template <class T, int Rows, int Along = 1>
inline void add_strips(Vec<T> (&sum)[Rows][2], const T* a, const Pixels<T>& b, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    const Vec<T> low = load_along<T, Along>(b.low + b.offsets[k]);
    const Vec<T> high = load_along<T, Along>(b.high + b.offsets[k]);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const T x = element(a + k * Rows + r);
      add_product<T>(sum[r][0], x, low);
      add_product<T>(sum[r][1], x, high);
    }
  }
}

// Pixels as columns. Sums are kept in `kept` (Rows, kCols), if given, until the last block.
template <class T, int Rows>
void multiply_columns(const Sums<T>& s, const T* panel_a, const Pixels<T>& b, int64_t depth,
                      int64_t i, int64_t rows, const Stretch* stretches, int count, bool add,
                      bool last, T* kept) {
  constexpr int n = lanes<T>;
  Vec<T> sums[Rows][2] = {};
  if (b.offsets) {
    add_strips<T, Rows>(sums, panel_a, b, depth);
  } else {
    add_products<T, Rows>(sums, panel_a, 1, Rows, b.low, depth);
  }
  const bool halves = count == 2 && stretches[0].length == n && stretches[1].length == n;
  const bool direct =
      (halves || stretches[0].length == kCols<T>) && pixel_step(s.part) == 1 && !(last && s.g.bias);
  if (!kept && direct) {
    T *low = s.result(i) + stretches[0].offset, *high = low + n;
    if (halves) high = s.result(i) + stretches[1].offset;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r, low += s.g.result_row, high += s.g.result_row) {
      if (r >= rows) break;
      store(low, add ? load(low) + sums[r][0] : sums[r][0]);
      store(high, add ? load(high) + sums[r][1] : sums[r][1]);
    }
    return;
  }
  T own[Rows * kCols<T>];
  T* tile = kept ? kept : own;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    T* to = tile + r * kCols<T>;
    store(to, kept && add ? load(to) + sums[r][0] : sums[r][0]);
    store(to + n, kept && add ? load(to + n) + sums[r][1] : sums[r][1]);
  }
  if (!kept || last) store_columns(s, tile, i, rows, stretches, count, add && !kept, last);
}

// Whether sums wait for the last block: adding to pixels that are not side by side is slow.
inline bool keeps_sums(const ConvPart& part, const SumOrder& order) {
  return pixel_step(part) != 1 && order.size() > 1;
}

// Offsets of the rows of the patch matrix from a pixel on.
template <class T>
struct Offsets {
  int64_t of[kDepth], lowest, highest;
};

template <class T>
void find_offsets(const Sums<T>& s, const Window<T>& window, const SumBlock& block,
                  Offsets<T>& offsets) {
  for (int64_t t = 0, k = 0; t < block.taps; ++t) {
    const int64_t tap = tap_offset(window, s.part.taps[block.tap + t]);
    if (t == 0 || tap < offsets.lowest) offsets.lowest = tap;
    if (t == 0 || tap > offsets.highest) offsets.highest = tap;
    for (int64_t c = 0; c < block.channels; ++c) offsets.of[k++] = tap + c * window.channel;
  }
  offsets.highest += (block.channels - 1) * window.channel;
}

// Weights that are not packed, of exactly Rows rows.
template <class T, int Rows>
void multiply_unpacked(const Sums<T>& s, const SumBlock& block, const T* panel_b, int64_t i,
                       int64_t columns, const Stretch* stretches, int count, bool add, bool last) {
  constexpr int cols = kCols<T>;
  const ConvSum& g = s.g;
  const T* weight = static_cast<const T*>(g.weight) + s.group * g.weight_group + i * g.weight_row +
                    block.channel * g.weight_channel;
  Vec<T> sums[Rows][2] = {};
  for (int64_t t = 0; t < block.taps; ++t) {
    const T* a = weight + s.part.taps[block.tap + t].weight;
    const T* b = panel_b + t * block.channels * cols;
    add_columns<T, Rows>(sums, a, g.weight_row, g.weight_channel, b, block.channels, columns);
  }
  T tile[Rows * cols];
  __builtin_memcpy(tile, sums, sizeof tile);
  store_columns(s, tile, i, Rows, stretches, count, add, last);
}

// The panels of `count` tiles of pixels, of two strips each, but for those that lie in the window.
template <class T>
void gather_panels(const Sums<T>& s, const Window<T>& window, const T* source,
                   const SumBlock& block, const Offsets<T>& offsets, const ColumnStrip<T>* strips,
                   const bool* in_window, int64_t count, T* panels) {
  constexpr int64_t cols = kCols<T>;
  const int64_t along = s.g.step[2] * window.strides[2], depth = block.depth();
  const int64_t first_channel = s.group * s.g.channels + block.channel;
  for (int64_t v = 0; v < 2 * count; ++v) {
    if (in_window[v / 2]) continue;
    const ColumnStrip<T>& strip = strips[v];
    const bool readable = window.readable(strip.lowest + offsets.lowest,
                                          strip.highest + offsets.highest - 1, first_channel);
    T* to = panels + v / 2 * cols * depth + v % 2 * lanes<T>;
    gather_strip(source, strip, along, readable, offsets.of, depth, to);
  }
}

template <class T>
void column_block(const Sums<T>& s, const Block& at, T* panels_b, T* window_memory,
                  T* kept_memory) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const int64_t first_channel = s.group * s.g.channels, sums = s.weights.order.size();
  Window<T> window(s.g, s.part, {false, false}, at.j, at.j_end, window_memory);
  Stretch stretches[kMostPixels];
  int counts[kMostPixels / cols];
  Views views;
  const bool has_views = find_views<T>(s.g, s.part, at.j, at.j_end, views);
  ColumnStrip<T> strips[kMostPixels / n];
  Offsets<T> offsets;
  const bool keeps = keeps_sums(s.part, s.weights.order);
  bool in_window[kMostPixels / cols] = {};
  for (int64_t j = at.j; j < at.j_end; j += cols) {
    const int64_t tile = (j - at.j) / cols;
    counts[tile] =
        find_stretches(s.g, s.part, j, smaller(cols, at.j_end - j), stretches + (j - at.j));
    for (int v = 0; v < 2 && !has_views; ++v) {
      strips[2 * tile + v] =
          make_strip(s.g, s.part, window, j + v * n, smaller(n, at.j_end - j - v * n));
    }
    in_window[tile] = !has_views && s.weights.panels && s.g.step[2] * window.strides[2] == 1 &&
                      is_whole(strips[2 * tile]) && is_whole(strips[2 * tile + 1]);
  }
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    pack_own(s, at, b);
    const int64_t depth = block.depth();
    const T* source = nullptr;
    if (has_views) {
      for (int64_t c = 0; c < block.channels; ++c) offsets.of[c] = c * s.g.source_strides[1];
    } else {
      source = window.channels(first_channel + block.channel, block.channels);
      find_offsets(s, window, block, offsets);
    }
    T* kept = keeps ? kept_memory : nullptr;
    for (int64_t first = 0; first < at.j_end - at.j; first += kPixelsAtOnce) {
      const int64_t end = smaller(first + kPixelsAtOnce, at.j_end - at.j);
      const int64_t tiles = blocks(end - first, cols);
      if (has_views) {
        gather_views(s.g, views, s.part.tap_count, block, first_channel + block.channel, first / n,
                     2 * tiles, blocks(at.j_end - at.j, n), offsets.of, panels_b);
      } else {
        gather_panels(s, window, source, block, offsets, strips + first / n,
                      in_window + first / cols, tiles, panels_b);
      }
      if (!s.weights.panels) {
        for (int64_t i = at.i, taken; i < at.i_end; i += taken) {
          const auto multiply = choose_height<kRows, kRows / 2, 2, 1>(
              at.i_end - i, &taken,
              [](auto height) { return multiply_unpacked<T, decltype(height)::value>; });
          multiply(s, block, panels_b, i, at.j_end - at.j, stretches, counts[0], b > 0,
                   b + 1 == sums);
        }
        continue;
      }
      for (int64_t i = at.i; i < at.i_end; i += kRows) {
        const int64_t rows = smaller(kRows, at.i_end - i);
        const auto multiply =
            choose_tile(rows, [](auto tile) { return multiply_columns<T, decltype(tile)::value>; });
        for (int64_t j = first; j < end; j += cols) {
          const ColumnStrip<T>* pair = strips + j / n;
          const Pixels<T> pixels =
              in_window[j / cols]
                  ? Pixels<T>{source + pair[0].places[0], source + pair[1].places[0], offsets.of}
                  : Pixels<T>{panels_b + (j - first) * depth, nullptr, nullptr};
          multiply(s, s.weights.panel(b, i / kRows), pixels, depth, i, rows, stretches + j,
                   counts[j / cols], b > 0, b + 1 == sums, kept);
          kept += keeps ? kRows * cols : 0;
        }
      }
    }
  }
}

// ---- Pixels as columns that are read where they lie: for so few rows, a panel would be used once.

template <class T>
bool reads_in_place(const ConvSum& g, const ConvPart& part) {
  const int64_t width = part.size[2];  // lanes behind a row's end are wasted
  return g.rows <= kRows && g.step[2] <= 2 && 5 * width >= 3 * round_up(width, lanes<T>);
}

template <class T, int Rows, int Along>
void multiply_strips(const T* panel_a, const Pixels<T>& b, int64_t depth, T* tile) {
  Vec<T> sums[Rows][2] = {};
  add_strips<T, Rows, Along>(sums, panel_a, b, depth);
  __builtin_memcpy(tile, sums, sizeof sums);
}

template <class T>
void block_in_place(const Sums<T>& s, const Block& at, T* window_memory) {
  constexpr int n = lanes<T>;
  const ConvSum& g = s.g;
  const int64_t first_channel = s.group * g.channels, sums = s.weights.order.size();
  Window<T> window(g, s.part, {false, true}, at.j, at.j_end, window_memory);
  int64_t places[kMostPixels];
  Stretch stretches[kMostPixels];
  int strips = 0;
  for (int64_t j = at.j; j < at.j_end;) {
    Run run;
    find_runs(s.part.size, j, 1, &run);
    const int64_t length = smaller(at.j_end - j, s.part.size[2] - run.p[2]);
    const int64_t place = window.offset(run);
    const int64_t* strides = s.part.strides;
    const int64_t result = run.n * g.result_batch + run.p[0] * strides[0] + run.p[1] * strides[1] +
                           run.p[2] * strides[2];
    for (int64_t w = 0; w < length; w += n, ++strips) {
      places[strips] = place + w * g.step[2] * window.strides[2];
      stretches[strips] = {strips % 2 * n, smaller(n, length - w), result + w * strides[2]};
    }
    j += length;
  }
  const auto multiply = choose_tile(g.rows, [&](auto tile) {
    constexpr int kTile = decltype(tile)::value;
    return g.step[2] == 1 ? multiply_strips<T, kTile, 1> : multiply_strips<T, kTile, 2>;
  });
  Offsets<T> offsets;
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    const T* source = window.channels(first_channel + block.channel, block.channels);
    find_offsets(s, window, block, offsets);
    for (int v = 0; v < strips; v += 2) {
      const int count = v + 1 < strips ? 2 : 1;
      T tile[kRows * kCols<T>];
      multiply(s.weights.panel(b, 0),
               {source + places[v], source + places[v + count - 1], offsets.of}, block.depth(),
               tile);
      store_columns(s, tile, 0, g.rows, stretches + v, count, b > 0, b + 1 == sums);
    }
  }
}

}  // namespace
}  // namespace tt::cpu
