// The gradient of a convolution's weights: for each tap a product of x and y, summed over pixels.
//
// w[o, c, t] = sum over n, p of y[n, o, p] * x[n, c, p * stride - padding + t * dilation]. Panels
// of y are packed; x is read where it lies, in runs of pixels along one dim. Sums are taken over
// blocks of pixels, blocks one after another in a chunk of the pixels, and chunks one
// after another: chunks follow from the shape alone, and may be computed at the same time.
#pragma once
#include "cpu/conv_gather.h"
#include "cpu/gemm.h"
#include "cpu/tasks.h"

namespace tt::cpu {
namespace {

// Pixels of y that follow one another along a dim, `first` on; p counts dims (N, D, H, W).
struct Line {
  int64_t p[4], place, length;  // place: in the block
};

// Part of a line that a tap sees inside of x: `length` pixels from x on, panel rows from `place`
// on.
struct Overlap {
  int64_t x, place, length;
};

constexpr int64_t kMostLines = 1024;  // in a block

struct WeightPlan {
  int64_t along;              // the dim of lines, of (N, D, H, W)
  int64_t lines;              // of all pixels
  int64_t size[4];            // of y
  int64_t segment, segments;  // pixels of a line at most; lines in a row of pixels
  int64_t lines_per_block, block, blocks_per_chunk, chunks;  // block: pixels at most
  int64_t taps, columns;                                     // channels of y, rounded up to panels
  int64_t channels_per_task;                                 // of x
};

// From a pixel of a line to the next, in x.
inline int64_t step_of(const ConvArgs& g, const WeightPlan& plan) {
  return plan.along == 0 ? g.x_strides[0] : g.x_strides[4] * g.stride[2];
}

template <class T>
WeightPlan plan_weight(const ConvArgs& g, int workers) {
  WeightPlan plan;
  plan.taps = g.taps[0] * g.taps[1] * g.taps[2];
  plan.columns = round_up(g.y_channels, kCols<T>);
  plan.size[0] = g.batch;
  for (int d = 0; d < 3; ++d) plan.size[d + 1] = g.y_size[d];
  // Short rows leave no room for the loop; then pixels of other images follow.
  plan.along = g.y_size[2] < 4 && g.batch > g.y_size[2] ? 0 : 3;
  const int64_t row = plan.size[plan.along];
  plan.segments = blocks(row, kDepth);
  plan.segment = blocks(row, plan.segments);
  plan.lines = plan.segments;
  for (int d = 0; d < 4; ++d) plan.lines *= d == plan.along ? 1 : plan.size[d];
  // Sums are kept in memory between blocks, and panels of y (block, columns) in the L2 cache; x is,
  // too, if no pixels are skipped.
  plan.block = smaller(g.stride[2] == 1 ? kMostLines : kMostLines / 2,
                       (int64_t{1} << 18) / plan.columns / 16 * 16);
  if (plan.block < kDepth) plan.block = kDepth;
  plan.lines_per_block = plan.block / plan.segment;
  const int64_t all_blocks = blocks(plan.lines, plan.lines_per_block);
  // As many chunks as give eight tasks, if they are worth it and the memory.
  const int64_t weights = g.groups * plan.taps * g.x_channels * plan.columns;
  const int64_t room = 1 + (int64_t{1} << 20) / (weights + 1);
  // Of groups, each chunk is read by all, and should stay in the cache.
  plan.blocks_per_chunk = blocks(all_blocks, smaller(room, g.groups > 1 ? all_blocks : 8));
  if (plan.blocks_per_chunk < 2) plan.blocks_per_chunk = 2;
  plan.chunks = blocks(all_blocks, plan.blocks_per_chunk);
  // Every task packs y anew, so channels of x are divided only as far as there is need.
  const int64_t tasks = plan.chunks * g.groups;
  const int64_t wanted = workers == 1 ? 1 : blocks(4 * workers, tasks);
  plan.channels_per_task = round_up(blocks(g.x_channels, wanted), kRows);
  return plan;
}

inline Line line_at(const WeightPlan& plan, int64_t index) {
  Line line;
  const int64_t first = index % plan.segments * plan.segment;
  index /= plan.segments;
  for (int d = 3; d >= 0; --d) {
    if (d == plan.along) continue;
    line.p[d] = index % plan.size[d];
    index /= plan.size[d];
  }
  line.p[plan.along] = first;
  line.length = smaller(plan.segment, plan.size[plan.along] - first);
  return line;
}

// Where tap t would see the first pixel of a line, as an offset, and which pixels it sees.
inline Span span_of(const ConvArgs& g, const WeightPlan& plan, const Line& line, int64_t t,
                    int64_t* x) {
  const int64_t tap[] = {t / g.taps[2] / g.taps[1], t / g.taps[2] % g.taps[1], t % g.taps[2]};
  Span span = {0, line.length};
  *x = line.p[0] * g.x_strides[0];
  bool any = true;
  for (int d = 0; d < 3; ++d) {
    const int64_t at = line.p[d + 1] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
    *x += at * g.x_strides[d + 2];
    if (plan.along == d + 1) {
      span = inside_span(at, g.stride[d], line.length, g.x_size[d]);
    } else {
      any = any && inside(at, g.x_size[d]);
    }
  }
  return any && span.low < span.high ? span : Span{0, 0};
}

// Where a line begins in y.
inline int64_t y_offset(const ConvArgs& g, const Line& line) {
  return line.p[0] * g.y_strides[0] + line.p[1] * g.y_strides[2] + line.p[2] * g.y_strides[3] +
         line.p[3] * g.y_strides[4];
}

// The lines of a block that a tap sees, cut to what is inside of x.
inline int find_overlaps(const ConvArgs& g, const WeightPlan& plan, int64_t tap, const Line* lines,
                         int64_t line_count, Overlap* overlaps) {
  int found = 0;
  for (int64_t i = 0; i < line_count; ++i) {
    int64_t x;
    const Span span = span_of(g, plan, lines[i], tap, &x);
    if (span.low == span.high) continue;
    overlaps[found++] = {x + span.low * step_of(g, plan), lines[i].place + span.low,
                         span.high - span.low};
  }
  return found;
}

// Adds tiles of sums to those in memory, or, if there are none, puts them there.
template <class T, int Rows>
inline void keep_sums(const Vec<T> (&sum)[Rows][2], T* sums, int64_t sums_row, bool add) {
  constexpr int n = lanes<T>;
  for (int r = 0; r < Rows; ++r) {
    T* to = sums + r * sums_row;
    store(to, add ? load(to) + sum[r][0] : sum[r][0]);
    store(to + n, add ? load(to + n) + sum[r][1] : sum[r][1]);
  }
}

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
    if (columns <= n) {
      add_half_products<T, Rows>(sum, from, x_channel, x_step, b, overlaps[i].length);
    } else {
      add_products<T, Rows>(sum, from, x_channel, x_step, b, overlaps[i].length);
    }
  }
  keep_sums(sum, sums, sums_row, add);
}

template <class T>
using AddOverlaps = void (*)(const T*, int64_t, int64_t, const T*, const Overlap*, int, int64_t, T*,
                             int64_t, bool);

// The widest that does not go beyond `rows`.
template <class T>
AddOverlaps<T> choose_rows(int64_t rows, int64_t* taken) {
  struct Choice {
    int rows;
    AddOverlaps<T> function;
  };
  static constexpr Choice choices[] = {{kRows, add_overlaps<T, kRows>},
                                       {kRows * 2 / 3, add_overlaps<T, kRows * 2 / 3>},
                                       {kRows / 2, add_overlaps<T, kRows / 2>},
                                       {4, add_overlaps<T, 4>},
                                       {3, add_overlaps<T, 3>},
                                       {2, add_overlaps<T, 2>},
                                       {1, add_overlaps<T, 1>}};
  const Choice* choice = choices;
  while (choice->rows > rows) ++choice;
  *taken = choice->rows;
  return choice->function;
}

// ---- Up to three channels of x: rows of the tile are (tap, channel), to be more.
// -----------------

// As add_overlaps, with rows at any offsets from x.
template <class T, int Rows>
void add_rows_at(const T* x, const int64_t* offsets, int64_t x_step, const T* panel,
                 const Overlap* overlaps, int count, T* sums, int64_t sums_row) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  Vec<T> sum[Rows][2] = {};
  for (int i = 0; i < count; ++i) {
    const T* rows[Rows];
    for (int r = 0; r < Rows; ++r) rows[r] = x + overlaps[i].x + offsets[r];
    const T* b = panel + overlaps[i].place * cols;
    for (int64_t p = 0; p < overlaps[i].length; ++p, b += cols) {
      const Vec<T> b0 = load(b), b1 = load(b + n);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const T value = element(rows[r] + p * x_step);
        sum[r][0] += value * b0;
        sum[r][1] += value * b1;
      }
    }
  }
  keep_sums(sum, sums, sums_row, true);
}

// Pixels that all taps see are taken for many taps at once, the others tap by tap.
template <class T>
void sum_few(const ConvArgs& g, const WeightPlan& plan, const T* x, const Line* lines,
             int64_t count, const T* panels, int64_t depth, T* sums) {
  constexpr int64_t cols = kCols<T>;
  const int64_t step = step_of(g, plan), rows = plan.taps * g.x_channels;
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
    overlaps[found++] = {x_first + shared[i].low * step, lines[i].place + shared[i].low, length};
  }
  int64_t origin;
  span_of(g, plan, lines[0], 0, &origin);
  for (int64_t m = 0; m < rows && found > 0;) {
    const int64_t left = rows - m;
    const int taken = left >= kRows ? kRows : left >= kRows / 2 ? kRows / 2 : left >= 3 ? 3 : 1;
    const auto add = taken == kRows       ? add_rows_at<T, kRows>
                     : taken == kRows / 2 ? add_rows_at<T, kRows / 2>
                     : taken == 3         ? add_rows_at<T, 3>
                                          : add_rows_at<T, 1>;
    int64_t offsets[kRows];
    for (int64_t r = 0; r < taken; ++r) {
      span_of(g, plan, lines[0], (m + r) / g.x_channels, &offsets[r]);
      offsets[r] += (m + r) % g.x_channels * g.x_strides[1] - origin;
    }
    for (int64_t o = 0; o < g.y_channels; o += cols) {
      add(x, offsets, step, panels + o * depth, overlaps, found, sums + m * plan.columns + o,
          plan.columns);
    }
    m += taken;
  }
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
        overlaps[found++] = {at + part.low * step, lines[i].place + part.low, part.high - part.low};
      }
    }
    for (int64_t c = 0, taken; c < g.x_channels && found > 0; c += taken) {
      const AddOverlaps<T> add = choose_rows<T>(g.x_channels - c, &taken);
      for (int64_t o = 0; o < g.y_channels; o += cols) {
        add(x + c * g.x_strides[1], g.x_strides[1], step, panels + o * depth, overlaps, found,
            g.y_channels - o, sums + (t * g.x_channels + c) * plan.columns + o, plan.columns, true);
      }
    }
  }
}

// sums (taps, channels of x [c, c_end), columns) of one chunk of pixels; panels: scratch.
template <class T>
void sum_chunk(const ConvArgs& g, const WeightPlan& plan, int64_t group, int64_t chunk, int64_t c,
               int64_t c_end, T* sums, T* panels) {
  constexpr int64_t cols = kCols<T>;
  const T* x = static_cast<const T*>(g.x) + group * g.x_channels * g.x_strides[1];
  const T* y = static_cast<const T*>(g.y) + group * g.y_channels * g.y_strides[1];
  const int64_t y_step = plan.along == 0 ? g.y_strides[0] : g.y_strides[4];
  const int64_t x_step = step_of(g, plan);
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
    for (int64_t o = 0; o < g.y_channels; o += cols) {
      for (int64_t i = 0; i < count;) {
        const int64_t first = i, offset = y_offset(g, lines[i]);
        int64_t length = 0;
        do {  // a line that goes on where the last one ends is packed with it
          length += lines[i++].length;
        } while (i < count && y_offset(g, lines[i]) == offset + length * y_step);
        const int64_t from = offset + o * g.y_strides[1];
        pack<T, kCols<T>>(panels + o * depth + lines[first].place * cols, y + from, y_step,
                          g.y_strides[1], length, g.y_channels - o, y_reach + 1 - from);
      }
    }
    if (few) {
      sum_few(g, plan, x, lines, count, panels, depth, sums);
      continue;
    }
    for (int64_t t = 0; t < plan.taps; ++t) {
      const int found = find_overlaps(g, plan, t, lines, count, overlaps);
      for (int64_t i = c, taken; i < c_end; i += taken) {
        const AddOverlaps<T> add = choose_rows<T>(c_end - i, &taken);
        for (int64_t o = 0; o < g.y_channels; o += cols) {
          add(x + i * g.x_strides[1], g.x_strides[1], x_step, panels + o * depth, overlaps, found,
              g.y_channels - o, sums + (t * g.x_channels + i) * plan.columns + o, plan.columns,
              begin > first);
        }
      }
    }
  }
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

template <class T>
void sum_weight(const ConvArgs& g) {
  const double work = double(g.batch * g.y_size[0] * g.y_size[1] * g.y_size[2]) *
                      double(g.taps[0] * g.taps[1] * g.taps[2]) *
                      double(g.groups * g.x_channels * g.y_channels);
  const int workers = work > kParallelWork ? num_threads() : 1;
  const WeightPlan plan = plan_weight<T>(g, workers);
  const int64_t group_size = plan.taps * g.x_channels * plan.columns;
  const int64_t chunk_size = g.groups * group_size;
  const int64_t panels_size = plan.block * plan.columns;
  const int64_t parts = blocks(g.x_channels, plan.channels_per_task);
  const int64_t size = workers * panels_size + plan.chunks * chunk_size;
  T* panels = static_cast<T*>(scratch_acquire(size_t(size) * sizeof(T)));
  T* sums = panels + workers * panels_size;
  run_tasks(plan.chunks * g.groups * parts, workers, [&](int64_t task, int64_t worker) {
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
  scratch_release(panels);
}

}  // namespace
}  // namespace tt::cpu
