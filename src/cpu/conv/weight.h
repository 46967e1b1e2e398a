// The gradient of a convolution's weights: for each tap a product of x and y, summed over pixels.
//
// w[o, c, t] = sum over n, p of y[n, o, p] * x[n, c, p * stride - padding + t * dilation]. Panels
// of y are packed; x is read where it lies, in runs of pixels along one dim. Sums are taken over
// blocks of pixels, blocks one after another in a chunk of the pixels, and chunks one
// after another: chunks follow from the shape alone, and may be computed at the same time.
#pragma once
#include "cpu/conv/lines.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

// sums (Rows, kCols) += (or =, unless `add`) channels of x (Rows) times a panel of y, that has
// `columns` or more.
template <class T, int Rows>
void add_overlaps(const T* x, int64_t x_channel, int64_t x_step, const T* panel,
                  const Overlap* overlaps, int count, int64_t columns, T* sums, int64_t sums_row,
                  bool add) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  Vec<T> sum[Rows][2] = {};
  for (int i = 0; i < count; ++i) {
    const T *from = x + overlaps[i].x, *b = panel + overlaps[i].place * cols;
    add_columns<T, Rows>(sum, from, x_channel, x_step, b, overlaps[i].length, columns);
  }
  for (int r = 0; r < Rows; ++r, sums += sums_row) {
    store(sums, add ? load(sums) + sum[r][0] : sum[r][0]);
    store(sums + n, add ? load(sums + n) + sum[r][1] : sum[r][1]);
  }
}

// ---- Up to three channels of x: rows of the tile are (tap, channel), to be more.
// -----------------

// As add_overlaps, with rows at any offsets from x, and rows of y `y_row` apart.
template <class T, int Rows, int Vectors>
void add_rows_at(const T* x, const int64_t* offsets, int64_t x_step, const T* y, int64_t y_row,
                 const Overlap* overlaps, int count, T* sums, int64_t sums_row) {
  constexpr int n = lanes<T>;
  Vec<T> sum[Rows][Vectors] = {};
  for (int i = 0; i < count; ++i) {
    const T* rows[Rows];
    for (int r = 0; r < Rows; ++r) rows[r] = x + overlaps[i].x + offsets[r];
    const T* b = y + overlaps[i].place * y_row;
    for (int64_t p = 0; p < overlaps[i].length; ++p, b += y_row) {
      Vec<T> of_y[Vectors];
      for (int v = 0; v < Vectors; ++v) of_y[v] = load(b + v * n);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const T value = element(rows[r] + p * x_step);
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) add_product<T>(sum[r][v], value, of_y[v]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      T* to = sums + r * sums_row + v * n;
      store(to, load(to) + sum[r][v]);
    }
  }
}

// Where the pixels of y are, a block of its channels at a time: packed, or in their own memory.
template <class T>
struct PixelsOfY {
  const T* first;
  int64_t row, block;
};

// sums [m, m + rows) += those rows, at offsets from x, times all channels of y.
template <class T>
void add_all_rows_at(const ConvArgs& g, const WeightPlan& plan, const T* x, const int64_t* offsets,
                     int64_t rows, const PixelsOfY<T>& y, const Overlap* overlaps, int count,
                     T* sums) {
  for (int64_t r = 0, taken; r < rows; r += taken) {
    const auto add = choose_height<kRows, kRows / 2, 3, 1>(rows - r, &taken, [&](auto height) {
      constexpr int kHeight = decltype(height)::value;
      return g.y_channels <= lanes<T> ? add_rows_at<T, kHeight, 1> : add_rows_at<T, kHeight, 2>;
    });
    for (int64_t o = 0; o < g.y_channels; o += kCols<T>) {
      add(x, offsets + r, plan.x_step, y.first + o / kCols<T> * y.block, y.row, overlaps, count,
          sums + r * plan.columns + o, plan.columns);
    }
  }
}

constexpr int64_t kTapsAtOnce = 64;

// Pixels that all taps see are taken for many taps at once, the others tap by tap.
template <class T>
void sum_few(const ConvArgs& g, const WeightPlan& plan, const T* x, const Line* lines,
             int64_t count, const PixelsOfY<T>& y, T* sums) {
  Overlap overlaps[2 * kMostLines];
  Span shared[kMostLines];
  int found = 0;
  bool whole = true;
  for (int64_t i = 0; i < count; ++i) {
    int64_t x_first, x_last;
    const Span first = span_of(g, plan, lines[i], 0, &x_first);
    const Span last = span_of(g, plan, lines[i], plan.taps - 1, &x_last);
    shared[i] = {first.low > last.low ? first.low : last.low, smaller(first.high, last.high)};
    if (shared[i].low >= shared[i].high) shared[i] = {0, 0};
    const int64_t length = shared[i].high - shared[i].low;
    whole = whole && length == lines[i].length;
    if (length == 0) continue;
    overlaps[found++] = {x_first + shared[i].low * plan.x_step, lines[i].place + shared[i].low,
                         length};
  }
  int64_t origin;
  span_of(g, plan, lines[0], 0, &origin);
  for (int64_t t = 0; t < plan.taps && found > 0; t += kTapsAtOnce) {
    const int64_t rows = smaller(kTapsAtOnce, plan.taps - t) * g.x_channels;
    int64_t offsets[3 * kTapsAtOnce];
    for (int64_t r = 0; r < rows; ++r) {
      span_of(g, plan, lines[0], t + r / g.x_channels, &offsets[r]);
      offsets[r] += r % g.x_channels * g.x_strides[1] - origin;
    }
    add_all_rows_at(g, plan, x, offsets, rows, y, overlaps, found,
                    sums + t * g.x_channels * plan.columns);
  }
  const int64_t channels[] = {0, g.x_strides[1], 2 * g.x_strides[1]};
  for (int64_t t = 0; t < plan.taps && !whole; ++t) {
    found = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t at;
      const Span span = span_of(g, plan, lines[i], t, &at);
      const bool none = shared[i].low == shared[i].high;
      const Span parts[] = {{span.low, none ? span.high : shared[i].low},
                            {none ? span.high : shared[i].high, span.high}};
      for (const Span& part : parts) {
        if (part.low >= part.high) continue;
        overlaps[found++] = {at + part.low * plan.x_step, lines[i].place + part.low,
                             part.high - part.low};
      }
    }
    if (found > 0) {
      add_all_rows_at(g, plan, x, channels, g.x_channels, y, overlaps, found,
                      sums + t * g.x_channels * plan.columns);
    }
  }
}

// Whether the pixels of lines follow one another in y, each a row of whole blocks of channels.
template <class T>
bool lies_in_rows(const ConvArgs& g, const WeightPlan& plan, const Line* lines, int64_t count) {
  if (g.y_strides[1] != 1 || g.y_channels % kCols<T> != 0) return false;
  for (int64_t i = 1; i < count; ++i) {
    if (y_offset(g, lines[i]) != y_offset(g, lines[0]) + lines[i].place * plan.y_step) return false;
  }
  return true;
}

// sums (taps, channels of x [c, c_end), columns) of one chunk of pixels; panels: scratch.
template <class T>
void sum_chunk(const ConvArgs& g, const WeightPlan& plan, int64_t group, int64_t chunk, int64_t c,
               int64_t c_end, T* sums, T* panels) {
  constexpr int64_t cols = kCols<T>;
  const T* x = static_cast<const T*>(g.x) + group * g.x_channels * g.x_strides[1];
  const T* y = static_cast<const T*>(g.y) + group * g.y_channels * g.y_strides[1];
  int64_t y_reach = 0;  // the offset of the last element that the group has
  for (int d = 0; d < 4; ++d) y_reach += (plan.size[d] - 1) * g.y_strides[d == 0 ? 0 : d + 1];
  y_reach += (g.y_channels - 1) * g.y_strides[1];
  const bool few = g.x_channels <= 3;
  for (int64_t i = 0; few && i < plan.taps * g.x_channels * plan.columns; ++i) sums[i] = 0;
  const int64_t first = chunk * plan.blocks_per_chunk * plan.lines_per_block;
  const int64_t end = smaller(plan.lines, first + plan.blocks_per_chunk * plan.lines_per_block);
  for (int64_t begin = first; begin < end; begin += plan.lines_per_block) {
    Line lines[kMostLines];
    Overlap overlaps[kMostLines];
    const int64_t count = smaller(plan.lines_per_block, end - begin);
    int64_t depth = 0;
    for (int64_t i = 0; i < count; ++i) {
      lines[i] = line_at(plan, begin + i);
      lines[i].place = depth;
      depth += lines[i].length;
    }
    const bool in_place = few && lies_in_rows<T>(g, plan, lines, count);
    for (int64_t o = 0; o < g.y_channels && !in_place; o += cols) {
      for (int64_t i = 0; i < count;) {
        const int64_t first = i, offset = y_offset(g, lines[i]);
        int64_t length = 0;
        do {  // a line that goes on where the last one ends is packed with it
          length += lines[i++].length;
        } while (i < count && y_offset(g, lines[i]) == offset + length * plan.y_step);
        const int64_t from = offset + o * g.y_strides[1];
        pack<T, kCols<T>>(panels + o * depth + lines[first].place * cols, y + from, plan.y_step,
                          g.y_strides[1], length, g.y_channels - o, y_reach + 1 - from);
      }
    }
    if (few) {
      const PixelsOfY<T> of_y = in_place
                                    ? PixelsOfY<T>{y + y_offset(g, lines[0]), plan.y_step, cols}
                                    : PixelsOfY<T>{panels, cols, cols * depth};
      sum_few(g, plan, x, lines, count, of_y, sums);
      continue;
    }
    for (int64_t t = 0; t < plan.taps; ++t) {
      const int found = find_overlaps(g, plan, t, lines, count, overlaps);
      for (int64_t i = c, taken; i < c_end; i += taken) {
        const auto add = choose_height<kRows, kRows * 2 / 3, kRows / 2, 4, 3, 2, 1>(
            c_end - i, &taken,
            [](auto height) { return add_overlaps<T, decltype(height)::value>; });
        for (int64_t o = 0; o < g.y_channels; o += cols) {
          add(x + i * g.x_strides[1], g.x_strides[1], plan.x_step, panels + o * depth, overlaps,
              found, g.y_channels - o, sums + (t * g.x_channels + i) * plan.columns + o,
              plan.columns, begin > first);
        }
      }
    }
  }
}

// ---- Groups of 4 or 8 channels that lie side by side: a vector holds whole groups of y, and meets
// one channel of x of each group at a time. The order of the sums is the same.

constexpr int64_t kMostMixedTaps = 64;

template <class T>
bool is_mixed_in_vectors(const ConvArgs& g, const WeightPlan& plan) {
  const int64_t size = g.x_channels;
  return g.groups > 1 && size == g.y_channels && (size == 4 || size == 8) && lanes<T> % size == 0 &&
         g.groups * size % lanes<T> == 0 && g.x_strides[1] == 1 && g.y_strides[1] == 1 &&
         plan.taps <= kMostMixedTaps;
}

template <class T, int Group, int C = 0>
inline void add_mixed(Vec<T>* sums, const Vec<T>& x, const Vec<T>& y) {
  sums[C] += spread<T, Group, C>(x, std::make_integer_sequence<int, lanes<T>>()) * y;
  if constexpr (C + 1 < Group) add_mixed<T, Group, C + 1>(sums, x, y);
}

// As sum_chunk, for the groups in channels [first, first + L); sums: of the first group.
template <class T, int Group>
void sum_mixed(const ConvArgs& g, const WeightPlan& plan, int64_t chunk, int64_t first, T* sums,
               int64_t group_size) {
  constexpr int n = lanes<T>;
  const T *x = static_cast<const T*>(g.x) + first, *y = static_cast<const T*>(g.y) + first;
  const int64_t begin = chunk * plan.blocks_per_chunk * plan.lines_per_block;
  const int64_t end = smaller(plan.lines, begin + plan.blocks_per_chunk * plan.lines_per_block);
  for (int64_t block = begin; block < end; block += plan.lines_per_block) {
    Vec<T> kept[kMostMixedTaps][Group] = {};
    for (int64_t i = block; i < smaller(block + plan.lines_per_block, end); ++i) {
      const Line line = line_at(plan, i);
      const T* of_y = y + y_offset(g, line);
      for (int64_t t = 0; t < plan.taps; ++t) {
        int64_t offset;
        const Span span = span_of(g, plan, line, t, &offset);
        Vec<T> sum[Group];
        __builtin_memcpy(sum, kept[t], sizeof sum);
        for (int64_t p = span.low; p < span.high; ++p) {
          add_mixed<T, Group>(sum, load(x + offset + p * plan.x_step),
                              load(of_y + p * plan.y_step));
        }
        __builtin_memcpy(kept[t], sum, sizeof sum);
      }
    }
    for (int64_t t = 0; t < plan.taps; ++t) {
      for (int64_t lane = 0; lane < n; ++lane) {
        T* to = sums + lane / Group * group_size + t * Group * plan.columns + lane % Group;
        for (int c = 0; c < Group; ++c) {
          T& sum = to[c * plan.columns];
          sum = block > begin ? sum + kept[t][c][lane] : kept[t][c][lane];
        }
      }
    }
  }
}

template <class T>
void sum_mixed_groups(const ConvArgs& g, const WeightPlan& plan, int workers, T* sums,
                      int64_t group_size) {
  const int64_t in_vector = lanes<T> / g.x_channels, vectors = g.groups / in_vector;
  run_tasks(plan.chunks * vectors, workers, [&](int64_t task, int64_t) {
    const int64_t chunk = task / vectors, group = task % vectors * in_vector;
    T* to = sums + (chunk * g.groups + group) * group_size;
    if constexpr (lanes<T> >= 8) {
      if (g.x_channels == 8) return sum_mixed<T, 8>(g, plan, chunk, group * 8, to, group_size);
    }
    if constexpr (lanes<T> >= 4) sum_mixed<T, 4>(g, plan, chunk, group * 4, to, group_size);
  });
}

constexpr int64_t kRowBlock = 512;

// Elements [m, m_end) of L rows of w, from the sums (taps, channels, columns) of all chunks, in
// order. A row of w is (channels, taps) in memory or, channels last, (taps, channels).
template <class T>
void write_weight(const ConvArgs& g, const WeightPlan& plan, const T* sums, int64_t chunk_size,
                  int64_t group, int64_t o, int64_t m, int64_t m_end) {
  constexpr int n = lanes<T>;
  const int64_t rows = smaller(n, g.y_channels - o), row = plan.taps * g.x_channels;
  const bool last = g.w_strides[1] == 1 && plan.taps > 1;
  T* w = static_cast<T*>(g.w) + (group * g.y_channels + o) * row;
  for (; m < m_end; m += n) {
    Vec<T> block[n];
    const int64_t width = smaller(n, m_end - m);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = m + smaller(i, width - 1);
      const int64_t from = last ? at : at % plan.taps * g.x_channels + at / plan.taps;
      const T* sum = sums + from * plan.columns + o;
      block[i] = load(sum);
      for (int64_t chunk = 1; chunk < plan.chunks; ++chunk) {
        block[i] += load(sum + chunk * chunk_size);
      }
    }
    transpose<T>(block);
    for (int64_t r = 0; r < rows; ++r) {
      width == n ? store(w + r * row + m, block[r])
                 : store_partial(w + r * row + m, block[r], width);
    }
  }
}

// The sums of some channels of y at a time, and all that w has of them.
template <class T>
void sum_and_write(const ConvArgs& g, WeightPlan plan, int workers) {
  const int64_t step = plan.written_per_task, parts = blocks(g.y_channels, step);
  const int64_t row = plan.taps * g.x_channels;
  plan.columns = smaller(plan.columns, step);
  const int64_t sums_size = row * plan.columns, per_worker = sums_size + plan.block * plan.columns;
  const Scratch<T> memory(workers * per_worker);
  run_tasks(g.groups * parts, workers, [&](int64_t task, int64_t worker) {
    const int64_t group = task / parts, first = task % parts * step;
    const int64_t channel = group * g.y_channels + first;
    ConvArgs own = g;
    own.x = static_cast<T*>(g.x) + group * g.x_channels * g.x_strides[1];
    own.y = static_cast<T*>(g.y) + channel * g.y_strides[1];
    own.w = static_cast<T*>(g.w) + channel * row;
    own.y_channels = smaller(step, g.y_channels - first);
    T *const sums = memory.data + worker * per_worker, *const panels = sums + sums_size;
    sum_chunk(own, plan, 0, 0, 0, g.x_channels, sums, panels);
    for (int64_t o = 0; o < own.y_channels; o += lanes<T>) {
      write_weight(own, plan, sums, 0, 0, o, 0, row);
    }
  });
}

template <class T>
void sum_weight(const ConvArgs& g) {
  const double work = double(g.batch * g.y_size[0] * g.y_size[1] * g.y_size[2]) *
                      double(g.taps[0] * g.taps[1] * g.taps[2]) *
                      double(g.groups * g.x_channels * g.y_channels);
  const int workers = work > kParallelWork ? num_threads() : 1;
  const WeightPlan plan = plan_weight<T>(g, workers);
  if (plan.written_per_task > 0) return sum_and_write<T>(g, plan, workers);
  const int64_t group_size = plan.taps * g.x_channels * plan.columns;
  const int64_t chunk_size = g.groups * group_size;
  const int64_t panels_size = plan.block * plan.columns;
  const int64_t parts = blocks(g.x_channels, plan.channels_per_task);
  const int64_t size = workers * panels_size + plan.chunks * chunk_size;
  const Scratch<T> memory(size);
  T *const panels = memory.data, *const sums = panels + workers * panels_size;
  const bool mixed = is_mixed_in_vectors<T>(g, plan);
  if (mixed) sum_mixed_groups<T>(g, plan, workers, sums, group_size);
  run_tasks(mixed ? 0 : plan.chunks * g.groups * parts, workers, [&](int64_t task, int64_t worker) {
    const int64_t c = task % parts * plan.channels_per_task, group = task / parts % g.groups;
    const int64_t chunk = task / parts / g.groups;
    sum_chunk(g, plan, group, chunk, c, smaller(c + plan.channels_per_task, g.x_channels),
              sums + chunk * chunk_size + group * group_size, panels + worker * panels_size);
  });
  const int64_t row = plan.taps * g.x_channels, row_blocks = blocks(row, kRowBlock);
  const int64_t column_blocks = blocks(g.y_channels, lanes<T>);
  const int writers = plan.chunks * chunk_size > kGrain ? workers : 1;
  run_tasks(g.groups * column_blocks * row_blocks, writers, [&](int64_t task, int64_t) {
    // Columns before rows: those of a block share pages of memory.
    const int64_t o = task % column_blocks, m = task / column_blocks % row_blocks * kRowBlock;
    const int64_t group = task / row_blocks / column_blocks;
    write_weight(g, plan, sums + group * group_size, chunk_size, group, o * lanes<T>, m,
                 smaller(m + kRowBlock, row));
  });
}

}  // namespace
}  // namespace tt::cpu
