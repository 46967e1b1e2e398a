// The products of a block of pixels with the weights, in the register tile of gemm_tile.h: pixels
// as its columns or, where channels are next to each other in the result, as its rows.
#pragma once
#include "cpu/conv_columns.h"
#include "cpu/conv_pack.h"

namespace tt::cpu {
namespace {

constexpr int kMostStretches = 32;  // of a tile: as many as pixels
static_assert(kCols<float> <= kMostStretches && kRows <= kMostStretches);

// Pixels whose panels are gathered before they meet all rows: more would leave the caches.
constexpr int64_t kPixelsAtOnce = 128;

// Where a product goes: rows [i, i_end) of a group's result, pixels [j, j_end) of a part.
struct Block {
  int64_t group, i, i_end, j, j_end;
};

template <class T>
struct Sums {
  const ConvSum& g;
  const ConvPart& part;
  Weights<T> weights;  // without panels: there is but one tile of pixels
  int64_t group;

  T* result(int64_t row) const {
    return static_cast<T*>(g.result) + part.result + (group * g.rows + row) * g.result_row;
  }
  // With row 0 added.
  T bias(int64_t row) const {
    return element(static_cast<const T*>(g.bias) + (group * g.rows + row) * g.bias_stride);
  }
  const T* panel(int64_t block, int64_t index) const {
    return weights.panels + (block * weights.per_block + index) * weights.slot;
  }
};

// Pixels that follow one another in the result, from `offset` on, at places [lane, lane + length)
// of a tile.
struct Stretch {
  int64_t lane, length, offset;
};

// Whether an image's pixels follow one another in the result, too.
inline bool is_flat(const ConvPart& part) {
  const int64_t *size = part.size, *strides = part.strides;
  return (size[2] == 1 || strides[2] == 1) && (size[1] == 1 || strides[1] == size[2]) &&
         (size[0] == 1 || strides[0] == size[1] * size[2]);
}

// From one pixel of a stretch to the next.
inline int64_t pixel_step(const ConvPart& part) { return is_flat(part) ? 1 : part.strides[2]; }

// Cuts `count` pixels from j on into stretches; answers how many.
inline int find_stretches(const ConvSum& g, const ConvPart& part, int64_t j, int64_t count,
                          Stretch* stretches) {
  const int64_t *size = part.size, *strides = part.strides;
  const int64_t whole[] = {1, 1, size[0] * size[1] * size[2]};
  Run runs[kMostStretches];
  const int found = find_runs(is_flat(part) ? whole : size, j, count, runs);
  for (int i = 0; i < found; ++i) {
    const Run& run = runs[i];
    stretches[i] = {run.lane, run.length,
                    run.n * g.result_batch + run.p[0] * strides[0] + run.p[1] * strides[1] +
                        run.p[2] * pixel_step(part)};
  }
  return found;
}

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
        if constexpr (kVectorBytes == 64) p = add_vectors<T, 16>(to, sum, p, length, add, bias[r]);
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

// Pixels as columns. Sums are kept in `kept` (Rows, kCols), if given, until the last block.
template <class T, int Rows>
void multiply_columns(const Sums<T>& s, const T* panel_a, const T* panel_b, int64_t depth,
                      int64_t i, int64_t rows, const Stretch* stretches, int count, bool add,
                      bool last, T* kept) {
  if (kept) {
    multiply_tile<T, Rows>(panel_a, panel_b, depth, kept, kCols<T>, add);
    if (last) store_columns(s, kept, i, rows, stretches, count, false, last);
    return;
  }
  if (rows == Rows && stretches[0].length == kCols<T> && pixel_step(s.part) == 1 &&
      !(last && s.g.bias)) {
    multiply_tile<T, Rows>(panel_a, panel_b, depth, s.result(i) + stretches[0].offset,
                           s.g.result_row, add);
    return;
  }
  T sums[Rows * kCols<T>];
  multiply_tile<T, Rows>(panel_a, panel_b, depth, sums, kCols<T>, false);
  store_columns(s, sums, i, rows, stretches, count, add, last);
}

// Whether sums wait for the last block: adding to pixels that are not side by side is slow.
inline bool keeps_sums(const ConvPart& part, const SumOrder& order) {
  return pixel_step(part) != 1 && order.size() > 1;
}

// The kernel for a panel of `rows` rows or less.
template <template <int> class Kernel>
auto choose_tile(int64_t rows) {
  const int tile = tile_rows(rows);
  return tile == kRows           ? Kernel<kRows>::function
         : tile == kRows * 2 / 3 ? Kernel<kRows * 2 / 3>::function
         : tile == kRows / 2     ? Kernel<kRows / 2>::function
                                 : Kernel<kRows / 3>::function;
}

template <class T>
struct Columns {
  template <int Rows>
  struct Kernel {
    static constexpr auto function = multiply_columns<T, Rows>;
  };
};

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
  constexpr int cols = kCols<T>, n = lanes<T>;
  const ConvSum& g = s.g;
  const T* weight = static_cast<const T*>(g.weight) + s.group * g.weight_group + i * g.weight_row +
                    block.channel * g.weight_channel;
  Vec<T> sums[Rows][2] = {};
  for (int64_t t = 0; t < block.taps; ++t) {
    const T* a = weight + s.part.taps[block.tap + t].weight;
    const T* b = panel_b + t * block.channels * cols;
    if (columns <= n) {
      add_half_products<T, Rows>(sums, a, g.weight_row, g.weight_channel, b, block.channels);
    } else {
      add_products<T, Rows>(sums, a, g.weight_row, g.weight_channel, b, block.channels);
    }
  }
  T tile[Rows * cols];
  __builtin_memcpy(tile, sums, sizeof tile);
  store_columns(s, tile, i, Rows, stretches, count, add, last);
}

// The panels of `count` tiles of pixels, of two strips each.
template <class T>
void gather_panels(const Sums<T>& s, const Window<T>& window, const T* source,
                   const SumBlock& block, const Offsets<T>& offsets, const ColumnStrip<T>* strips,
                   int64_t count, T* panels) {
  constexpr int64_t cols = kCols<T>;
  const int64_t along = s.g.step[2] * window.strides[2], depth = block.depth();
  const int64_t first_channel = s.group * s.g.channels + block.channel;
  for (int64_t v = 0; v < 2 * count; ++v) {
    const ColumnStrip<T>& strip = strips[v];
    const bool readable = window.readable(strip.lowest + offsets.lowest,
                                          strip.highest + offsets.highest - 1, first_channel);
    T* to = panels + v / 2 * cols * depth + v % 2 * lanes<T>;
    if (window.channel == 1 && block.taps == 1) {
      gather_transposed(source + offsets.of[0], window.end(), strip, depth, to);
    } else {
      gather_strip(source, strip, along, readable, offsets.of, depth, to);
    }
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
  for (int64_t j = at.j; j < at.j_end; j += cols) {
    const int64_t tile = (j - at.j) / cols;
    counts[tile] =
        find_stretches(s.g, s.part, j, smaller(cols, at.j_end - j), stretches + (j - at.j));
    for (int v = 0; v < 2 && !has_views; ++v) {
      strips[2 * tile + v] =
          make_strip(s.g, s.part, window, j + v * n, smaller(n, at.j_end - j - v * n));
    }
  }
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
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
        gather_panels(s, window, source, block, offsets, strips + first / n, tiles, panels_b);
      }
      if (!s.weights.panels) {
        for (int64_t i = at.i, taken; i < at.i_end; i += taken) {
          const int64_t left = at.i_end - i;
          taken = left >= kRows ? kRows : left >= kRows / 2 ? kRows / 2 : left >= 2 ? 2 : 1;
          const auto multiply = taken == kRows       ? multiply_unpacked<T, kRows>
                                : taken == kRows / 2 ? multiply_unpacked<T, kRows / 2>
                                : taken == 2         ? multiply_unpacked<T, 2>
                                                     : multiply_unpacked<T, 1>;
          multiply(s, block, panels_b, i, at.j_end - at.j, stretches, counts[0], b > 0,
                   b + 1 == sums);
        }
        continue;
      }
      for (int64_t i = at.i; i < at.i_end; i += kRows) {
        const int64_t rows = smaller(kRows, at.i_end - i);
        const auto multiply = choose_tile<Columns<T>::template Kernel>(rows);
        for (int64_t j = first; j < end; j += cols) {
          multiply(s, s.panel(b, i / kRows), panels_b + (j - first) * depth, depth, i, rows,
                   stretches + j, counts[j / cols], b > 0, b + 1 == sums, kept);
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

// sums (Rows, kCols) = panel a (depth, Rows)^T times L pixels at `low` and L at `high`.
template <class T, int Rows, int Along>
void multiply_pixels(const T* panel_a, const T* low, const T* high, const int64_t* offsets,
                     int64_t depth, T* sums) {
  constexpr int n = lanes<T>;
  Vec<T> sum[Rows][2] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const Vec<T> b0 = load_along<T, Along>(low + offsets[k]);
    const Vec<T> b1 = load_along<T, Along>(high + offsets[k]);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] += panel_a[k * Rows + r] * b0;
      sum[r][1] += panel_a[k * Rows + r] * b1;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    store(sums + 2 * r * n, sum[r][0]);
    store(sums + 2 * r * n + n, sum[r][1]);
  }
}

template <class T, int Along>
struct InPlace {
  template <int Rows>
  struct Kernel {
    static constexpr auto function = multiply_pixels<T, Rows, Along>;
  };
};

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
    const int64_t place =
        window.offset(run.n, run.p[0] * g.step[0], run.p[1] * g.step[1], run.p[2] * g.step[2]);
    const int64_t* strides = s.part.strides;
    const int64_t result = run.n * g.result_batch + run.p[0] * strides[0] + run.p[1] * strides[1] +
                           run.p[2] * strides[2];
    for (int64_t w = 0; w < length; w += n, ++strips) {
      places[strips] = place + w * g.step[2] * window.strides[2];
      stretches[strips] = {strips % 2 * n, smaller(n, length - w), result + w * strides[2]};
    }
    j += length;
  }
  const auto multiply = g.step[2] == 1 ? choose_tile<InPlace<T, 1>::template Kernel>(g.rows)
                                       : choose_tile<InPlace<T, 2>::template Kernel>(g.rows);
  Offsets<T> offsets;
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    const T* source = window.channels(first_channel + block.channel, block.channels);
    find_offsets(s, window, block, offsets);
    for (int v = 0; v < strips; v += 2) {
      const int count = v + 1 < strips ? 2 : 1;
      T tile[kRows * kCols<T>];
      multiply(s.panel(b, 0), source + places[v], source + places[v + count - 1], offsets.of,
               block.depth(), tile);
      store_columns(s, tile, 0, g.rows, stretches + v, count, b > 0, b + 1 == sums);
    }
  }
}

// Pixels as rows, channels as columns.
template <class T, int Rows>
void multiply_rows(const Sums<T>& s, const T* a, int64_t a_row, const Segment* segments,
                   int segment_count, const T* panel_b, int64_t column, const Stretch* stretches,
                   int count, bool add, bool last) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  Vec<T> sums[Rows][2] = {};
  for (int i = 0; i < segment_count; ++i) {
    const Segment& segment = segments[i];
    const T* b = panel_b + segment.place * cols;
    if (s.g.rows - column <= n) {
      add_half_products<T, Rows>(sums, a + segment.offset, a_row, 1, b, segment.count);
    } else {
      add_products<T, Rows>(sums, a + segment.offset, a_row, 1, b, segment.count);
    }
  }
  T bias[cols] = {};
  const int64_t width = smaller(cols, s.g.rows - column), step = pixel_step(s.part);
  if (last && s.g.bias) {
    for (int64_t c = 0; c < width; ++c) bias[c] = s.bias(column + c);
  }
  for (int q = 0; q < count; ++q) {
    T* to = s.result(column) + stretches[q].offset;
    const Vec<T>* sum = sums[stretches[q].lane];
    for (int64_t p = 0; p < stretches[q].length; ++p, to += step, sum += 2) {
      if (width == cols) {
        const Vec<T> low = add ? load(to) + sum[0] : sum[0];
        const Vec<T> high = add ? load(to + n) + sum[1] : sum[1];
        store(to, low + load(bias));
        store(to + n, high + load(bias + n));
      } else {
        for (int64_t c = 0; c < width; ++c) {
          to[c] = (add ? to[c] + sum[c / n][c % n] : sum[c / n][c % n]) + bias[c];
        }
      }
    }
  }
}

template <class T>
struct Rows {
  template <int Count>
  struct Kernel {
    static constexpr auto function = multiply_rows<T, Count>;
  };
};

template <class T>
void row_block(const Sums<T>& s, const Block& at, T* panel, T* window_memory) {
  constexpr int64_t cols = kCols<T>;
  const int64_t first_channel = s.group * s.g.channels, sums = s.weights.order.size();
  Window<T> window(s.g, s.part, {true, false}, at.j, at.j_end, window_memory);
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    const T* source = window.channels(first_channel + block.channel, block.channels);
    const int64_t* step = s.g.step;
    Segment segments[kMostSegments];
    const int segment_count = find_segments(s.part, window, block, segments);
    const Segment packed = {0, 0, block.depth()};
    int64_t reach = 0;  // from a pixel to the end of what its taps see
    for (int i = 0; i < segment_count; ++i) {
      const int64_t end = segments[i].offset + segments[i].count;
      if (end > reach) reach = end;
    }
    for (int64_t j = at.j, rows; j < at.j_end; j += rows) {
      rows = smaller(kRows, at.j_end - j);
      // Few channels do not pay for a copy of pixels: tiles end where rows of pixels do.
      const int64_t in_row = s.part.size[2] - j % s.part.size[2];
      if (at.i_end - at.i <= 2 * cols && 2 * in_row > kRows) rows = smaller(rows, in_row);
      Stretch stretches[kRows];
      const int count = find_stretches(s.g, s.part, j, rows, stretches);
      Run runs[kRows];
      const int run_count = find_runs(s.part.size, j, rows, runs);
      // Neighbours in a row are read where they are.
      const T* first = source + window.offset(runs[0].n, runs[0].p[0] * step[0],
                                              runs[0].p[1] * step[1], runs[0].p[2] * step[2]);
      const int64_t pixel = step[2] * window.strides[2];
      const bool direct = run_count == 1 && window.end() - first >= reach + tile_rows(rows) * pixel;
      if (!direct) {
        gather_rows(s.g, window, source, runs, run_count, segments, segment_count, panel);
      }
      const T* a = direct ? first : panel;
      const auto multiply = choose_tile<Rows<T>::template Kernel>(rows);
      for (int64_t i = at.i; i < at.i_end; i += cols) {
        multiply(s, a, direct ? pixel : kPanelRow, direct ? segments : &packed,
                 direct ? segment_count : 1, s.panel(b, i / cols), i, stretches, count, b > 0,
                 b + 1 == sums);
      }
    }
  }
}

}  // namespace
}  // namespace tt::cpu
