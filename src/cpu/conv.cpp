// Convolutions of float32 and float64, compiled per instruction set with contraction to FMA.
//
// y, and the gradient of x, are matrix products with a matrix of patches that is never stored: its
// panels are gathered from the source (conv_window.h) and met by panels of weights, in the register
// tile of gemm_tile.h. Every element is a sum over blocks of channels, and in these over (tap,
// channel). In conv_weight.h is the gradient of w, whose sum is over pixels; in conv_depthwise.h,
// channels that do not mix; in conv_naive.cpp, the definition of all.
#include "cpu/conv.h"

#include "cpu/conv_depthwise.h"
#include "cpu/conv_weight.h"
#include "cpu/conv_window.h"
#include "cpu/gemm.h"
#include "cpu/tasks.h"

namespace tt::cpu {
namespace {

// ---- Weights, packed once for all pixels: panels of `width` rows of w, one after another for each
// block of the sum. Where pixels are rows, weights are columns of the product.

template <class T>
struct Weights {
  T* panels;
  SumOrder order;
  int64_t slot;  // elements between two panels
  int64_t per_block;
  int64_t group_size() const { return order.size() * per_block * slot; }
};

// Rows of a panel of a product whose rows from i on are left.
inline int tile_rows(int64_t left) {
  return left > kRows * 2 / 3 ? kRows
         : left > kRows / 2   ? kRows * 2 / 3
         : left > kRows / 3   ? kRows / 2
                              : kRows / 3;
}

// The panels of rows [i, i + Width) of a group, in all blocks of the sum: `first` is that of the
// first.
template <class T, int Width>
void pack_weights(const ConvSum& g, const ConvPart& part, const SumOrder& order, int64_t group,
                  int64_t i, T* first, int64_t block_size) {
  const T* weight = static_cast<const T*>(g.weight);
  const int64_t start = group * g.weight_group + i * g.weight_row;
  for (int64_t b = 0; b < order.size(); ++b, first += block_size) {
    const SumBlock block = order.at(b);
    for (int64_t t = 0; t < block.taps; ++t) {
      const int64_t offset =
          start + part.taps[block.tap + t].weight + block.channel * g.weight_channel;
      pack<T, Width>(first + t * block.channels * Width, weight + offset, g.weight_channel,
                     g.weight_row, block.channels, g.rows - i, g.weight_extent - offset);
    }
  }
}

// The same where the taps of a channel lie side by side in w: memory is read in its order, some
// vectors of each row at a time, which are transposed.
template <class T, int Width>
void pack_neighbours(const ConvSum& g, const ConvPart& part, const SumOrder& order, int64_t group,
                     int64_t i, T* first, int64_t block_size) {
  constexpr int n = lanes<T>;
  const int64_t used = smaller(Width, g.rows - i);
  for (int64_t b = 0; b < order.size(); ++b, first += block_size) {
    const SumBlock at = order.at(b);
    const bool all = g.weight_channel == at.taps;  // channels follow one another, too
    const int64_t length = all ? at.depth() : at.taps;
    for (int64_t from = 0; from < (all ? 1 : at.channels); ++from) {
      const int64_t start = group * g.weight_group + i * g.weight_row + part.taps[at.tap].weight +
                            (at.channel + from) * g.weight_channel;
      int64_t tap = 0, channel = from;
      for (int64_t m = 0; m < length; m += n) {
        const int64_t count = smaller(n, length - m);
        Vec<T> block[n] = {};
        for (int64_t r = 0; r < used; ++r) {
          const int64_t offset = start + r * g.weight_row + m;
          const T* row = static_cast<const T*>(g.weight) + offset;
          block[r] = offset + n <= g.weight_extent ? load(row) : load_partial(row, count);
        }
        transpose<T>(block);
        for (int64_t j = 0; j < count; ++j) {
          __builtin_memcpy(first + (tap * at.channels + channel) * Width, &block[j],
                           Width * sizeof(T));
          if (++tap == at.taps) {
            tap = 0;
            ++channel;
          }
        }
      }
    }
  }
}

template <class T, int Width>
void pack_rows(const ConvSum& g, const ConvPart& part, const SumOrder& order, int64_t group,
               int64_t i, T* first, int64_t block_size) {
  if constexpr (Width <= lanes<T>) {
    bool neighbours = part.tap_count > 2;
    for (int64_t t = 0; t < part.tap_count; ++t) {
      neighbours = neighbours && part.taps[t].weight == part.taps[0].weight + t;
    }
    if (neighbours) return pack_neighbours<T, Width>(g, part, order, group, i, first, block_size);
  }
  pack_weights<T, Width>(g, part, order, group, i, first, block_size);
}

// ---- One block of pixels.

constexpr int kMostStretches = 32;  // of a tile: as many as pixels
static_assert(kCols<float> <= kMostStretches && kRows <= kMostStretches);

// Where a product goes: rows [i, i_end) of a group's result, pixels [j, j_end) of a part.
struct Block {
  int64_t group, i, i_end, j, j_end;
};

template <class T>
struct Sums {
  const ConvSum& g;
  const ConvPart& part;
  Weights<T> weights;
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

// Pixels as columns.
template <class T, int Rows>
void multiply_columns(const Sums<T>& s, const T* panel_a, const T* panel_b, int64_t depth,
                      int64_t i, int64_t rows, const Stretch* stretches, int count, bool add,
                      bool last) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  const int64_t step = pixel_step(s.part);
  const bool bias = last && s.g.bias;
  if (rows == Rows && stretches[0].length == cols && step == 1 && !bias) {
    multiply_tile<T, Rows>(panel_a, panel_b, depth, s.result(i) + stretches[0].offset,
                           s.g.result_row, add);
    return;
  }
  T sums[Rows * cols];
  multiply_tile<T, Rows>(panel_a, panel_b, depth, sums, cols, false);
  for (int64_t r = 0; r < rows; ++r) {
    const T more = bias ? s.bias(i + r) : T(0);
    for (int q = 0; q < count; ++q) {
      T* to = s.result(i + r) + stretches[q].offset;
      const T* sum = sums + r * cols + stretches[q].lane;
      const int64_t length = stretches[q].length;
      int64_t p = 0;
      if (step == 1) {
        for (; p + n <= length; p += n) {
          store(to + p, (add ? load(to + p) + load(sum + p) : load(sum + p)) + more);
        }
      }
      for (; p < length; ++p) {
        T& out = to[p * step];
        out = (add ? out + sum[p] : sum[p]) + more;
      }
    }
  }
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

template <class T>
void column_block(const Sums<T>& s, const Block& at, T* panels_b, T* window_memory) {
  constexpr int64_t cols = kCols<T>, n = lanes<T>;
  const int64_t first_channel = s.group * s.g.channels, sums = s.weights.order.size();
  Window<T> window(s.g, s.part, false, at.j, at.j_end, window_memory);
  const int64_t along = s.g.step[2] * window.strides[2];
  Stretch stretches[kMostPixels];
  int counts[kMostPixels / cols];
  ColumnStrip<T> strips[kMostPixels / n];
  for (int64_t j = at.j; j < at.j_end; j += cols) {
    const int64_t tile = (j - at.j) / cols;
    counts[tile] =
        find_stretches(s.g, s.part, j, smaller(cols, at.j_end - j), stretches + (j - at.j));
    for (int v = 0; v < 2; ++v) {
      strips[2 * tile + v] =
          make_strip(s.g, s.part, window, j + v * n, smaller(n, at.j_end - j - v * n));
    }
  }
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    const int64_t depth = block.depth();
    const T* source = window.channels(first_channel + block.channel, block.channels);
    int64_t offsets[kDepth], lowest = 0, highest = 0;
    for (int64_t t = 0, k = 0; t < block.taps; ++t) {
      const int64_t tap = tap_offset(window, s.part.taps[block.tap + t]);
      if (t == 0 || tap < lowest) lowest = tap;
      if (t == 0 || tap > highest) highest = tap;
      for (int64_t c = 0; c < block.channels; ++c) offsets[k++] = tap + c * window.channel;
    }
    highest += (block.channels - 1) * window.channel;
    for (int64_t v = 0; v < 2 * blocks(at.j_end - at.j, cols); ++v) {
      const bool readable =
          window.readable(strips[v].lowest + lowest, strips[v].highest + highest - 1,
                          first_channel + block.channel);
      T* to = panels_b + v / 2 * cols * depth + v % 2 * n;
      if (window.channel == 1 && block.taps == 1) {
        gather_transposed(source + offsets[0], window.end(), strips[v], depth, to);
      } else {
        gather_strip(source, strips[v], along, readable, offsets, depth, to);
      }
    }
    for (int64_t i = at.i; i < at.i_end; i += kRows) {
      const int64_t rows = smaller(kRows, at.i_end - i);
      const auto multiply = choose_tile<Columns<T>::template Kernel>(rows);
      for (int64_t j = 0; j < at.j_end - at.j; j += cols) {
        multiply(s, s.panel(b, i / kRows), panels_b + j * depth, depth, i, rows, stretches + j,
                 counts[j / cols], b > 0, b + 1 == sums);
      }
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
    add_products<T, Rows>(sums, a + segment.offset, a_row, 1, panel_b + segment.place * cols,
                          segment.count);
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
  Window<T> window(s.g, s.part, true, at.j, at.j_end, window_memory);
  for (int64_t b = 0; b < sums; ++b) {
    const SumBlock block = s.weights.order.at(b);
    const T* source = window.channels(first_channel + block.channel, block.channels);
    const int64_t* step = s.g.step;
    Segment segments[kMostSegments];
    const int segment_count = find_segments(s.part, window, block, segments);
    const Segment packed = {0, 0, block.depth()};
    for (int64_t j = at.j; j < at.j_end; j += kRows) {
      const int64_t rows = smaller(kRows, at.j_end - j);
      Stretch stretches[kRows];
      const int count = find_stretches(s.g, s.part, j, rows, stretches);
      Run runs[kRows];
      const int run_count = find_runs(s.part.size, j, rows, runs);
      // Neighbours in a row are read where they are.
      const bool direct = run_count == 1 && rows == tile_rows(rows);
      if (!direct) {
        gather_rows(s.g, window, source, runs, run_count, segments, segment_count, panel);
      }
      const T* a = direct ? source + window.offset(runs[0].n, runs[0].p[0] * step[0],
                                                   runs[0].p[1] * step[1], runs[0].p[2] * step[2])
                          : panel;
      const auto multiply = choose_tile<Rows<T>::template Kernel>(rows);
      for (int64_t i = at.i; i < at.i_end; i += cols) {
        multiply(s, a, direct ? step[2] * window.strides[2] : kPanelRow,
                 direct ? segments : &packed, direct ? segment_count : 1, s.panel(b, i / cols), i,
                 stretches, count, b > 0, b + 1 == sums);
      }
    }
  }
}

// Whether channels are columns of the product: if they are next to each other in the result, and
// enough to fill a vector.
template <class T>
bool channels_as_columns(const ConvSum& g) {
  return g.result_row == 1 && g.rows * 2 > lanes<T>;
}

// Tasks of a part: blocks of (rows, pixels) for every group.
struct Cut {
  int64_t rows, pixels, row_blocks, pixel_blocks;
  int64_t size(int64_t groups) const { return groups * row_blocks * pixel_blocks; }
};

Cut cut_part(const ConvSum& g, int64_t pixels, int64_t row_unit, int64_t pixel_unit,
             int64_t wanted) {
  int64_t rows = round_up(g.rows, row_unit),
          columns = smaller(kMostPixels, round_up(pixels, pixel_unit));
  while (g.groups * blocks(g.rows, rows) * blocks(pixels, columns) < wanted) {
    if (columns >= 4 * pixel_unit) {
      columns = round_up(blocks(columns, 2), pixel_unit);
    } else if (rows >= 4 * row_unit) {
      rows = round_up(blocks(rows, 2), row_unit);
    } else {
      break;
    }
  }
  return {rows, columns, blocks(g.rows, rows), blocks(pixels, columns)};
}

constexpr int64_t kPartsAtOnce = 64;

template <class T>
struct Packing {
  template <int Width>
  struct Kernel {
    static constexpr auto function = pack_rows<T, Width>;
  };
};

template <class T>
void sum_parts(const ConvSum& g, const ConvPart* parts, int part_count, int workers) {
  constexpr int64_t cols = kCols<T>;
  const bool turned = channels_as_columns<T>(g);
  const int64_t row_unit = turned ? cols : kRows, pixel_unit = turned ? kRows : cols;
  Cut cuts[kPartsAtOnce];
  Weights<T> weights[kPartsAtOnce];
  int64_t task_ends[kPartsAtOnce], panel_ends[kPartsAtOnce];
  int64_t tasks = 0, panels = 0, size = 0, panel_size = kRows * kPanelRow, window_size = 0;
  for (int i = 0; i < part_count; ++i) {
    const ConvPart& part = parts[i];
    const int64_t pixels = g.batch * part.size[0] * part.size[1] * part.size[2];
    cuts[i] = cut_part(g, pixels, row_unit, pixel_unit,
                       workers == 1 ? 1 : blocks(4 * workers, part_count));
    Weights<T>& own = weights[i];
    own.order = order_of(g, part);
    own.slot = round_up(own.order.depth() * row_unit + cols, 64);
    own.per_block = blocks(g.rows, row_unit);
    size += g.groups * own.group_size();
    panels += g.groups * own.per_block;
    tasks += cuts[i].size(g.groups);
    panel_ends[i] = panels;
    task_ends[i] = tasks;
    const int64_t panel = cuts[i].pixels * own.order.depth() + cols;
    const int64_t window = Window<T>::size_of(g, part, own.order.channel_step);
    if (!turned && panel > panel_size) panel_size = panel;
    if (window > window_size) window_size = window;
  }
  panel_size = round_up(panel_size, 64);
  const int64_t per_worker = panel_size + round_up(window_size, 64);
  T* scratch = static_cast<T*>(scratch_acquire(size_t(size + workers * per_worker) * sizeof(T)));
  T* next = scratch + workers * per_worker;
  for (int i = 0; i < part_count; ++i) {
    weights[i].panels = next;
    next += g.groups * weights[i].group_size();
  }
  run_tasks(panels, size > kGrain ? workers : 1, [&](int64_t task, int64_t) {
    int i = 0;
    while (task >= panel_ends[i]) ++i;
    const int64_t index = i > 0 ? task - panel_ends[i - 1] : task;
    const Weights<T>& own = weights[i];
    const int64_t group = index / own.per_block, panel = index % own.per_block;
    const int64_t row = panel * row_unit;
    const auto pack =
        turned ? pack_weights<T, kCols<T>> : choose_tile<Packing<T>::template Kernel>(g.rows - row);
    pack(g, parts[i], own.order, group, row,
         own.panels + group * own.group_size() + panel * own.slot, own.per_block * own.slot);
  });
  run_tasks(tasks, workers, [&](int64_t task, int64_t worker) {
    int i = 0;
    while (task >= task_ends[i]) ++i;
    int64_t index = i > 0 ? task - task_ends[i - 1] : task;
    const ConvPart& part = parts[i];
    const Cut& cut = cuts[i];
    const int64_t pixels = g.batch * part.size[0] * part.size[1] * part.size[2];
    const int64_t row = index % cut.row_blocks * cut.rows;
    index /= cut.row_blocks;
    // Groups before pixels: where channels are last, they share lines of memory.
    const int64_t group = index % g.groups, pixel = index / g.groups * cut.pixels;
    Weights<T> own = weights[i];
    own.panels += group * own.group_size();
    const Sums<T> sums = {g, part, own, group};
    const Block block = {group, row, smaller(row + cut.rows, g.rows), pixel,
                         smaller(pixel + cut.pixels, pixels)};
    T* panel = scratch + worker * per_worker;
    turned ? row_block(sums, block, panel, panel + panel_size)
           : column_block(sums, block, panel, panel + panel_size);
  });
  scratch_release(scratch);
}

template <class T>
void sum(const ConvSum& g) {
  double work = 0;
  for (int64_t i = 0; i < g.part_count; ++i) {
    const ConvPart& part = g.parts[i];
    work += double(g.batch * part.size[0] * part.size[1] * part.size[2]) *
            double(g.groups * g.rows) * double(part.tap_count * g.channels);
  }
  const int workers = work > kParallelWork ? num_threads() : 1;
  for (int64_t i = 0; i < g.part_count; i += kPartsAtOnce) {
    sum_parts<T>(g, g.parts + i, int(smaller(kPartsAtOnce, g.part_count - i)), workers);
  }
}

}  // namespace

namespace TT_ISA {
extern const ConvTable conv_table;
const ConvTable conv_table = {{},
                              {sum<float>, sum<double>},
                              {sum_weight<float>, sum_weight<double>},
                              {depthwise<float>, depthwise<double>},
                              {depthwise_weight<float>, depthwise_weight<double>}};
}  // namespace TT_ISA

}  // namespace tt::cpu
