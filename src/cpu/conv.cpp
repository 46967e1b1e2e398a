// Convolutions of float32 and float64, compiled per instruction set with contraction to FMA.
//
// y, and the gradient of x, are matrix products with a matrix of patches that is never stored: its
// panels are gathered from the source (conv_gather.h) and met by panels of weights, in the register
// tile of gemm_tile.h. Every element is a sum over k = tap * channels + channel, in blocks of
// kDepth. In conv_weight.h is the gradient of w, whose sum is over pixels; in conv_depthwise.h,
// channels that do not mix; in conv_naive.cpp, the definition of all.
#include "cpu/conv.h"

#include "cpu/conv_depthwise.h"
#include "cpu/conv_gather.h"
#include "cpu/conv_weight.h"
#include "cpu/gemm.h"
#include "cpu/tasks.h"

namespace tt::cpu {
namespace {

// ---- Weights, packed once for all pixels: panels of `width` rows of w, one after another for each
// block of k. Where pixels are rows, weights are columns of the product.

template <class T>
struct Weights {
  T* panels;
  int64_t slot;  // elements between two panels
  int64_t per_block;
};

// Rows of a panel of a product whose rows from i on are left.
inline int tile_rows(int64_t left) {
  return left > kRows * 2 / 3 ? kRows : left > kRows / 3 ? kRows * 2 / 3 : kRows / 3;
}

// The panels of rows [i, i + Width) of a group, in all blocks of k: `first` is that of the first.
template <class T, int Width>
void pack_weights(const ConvSum& g, const ConvPart& part, int64_t group, int64_t i, T* first,
                  int64_t block_size) {
  const T* weight = static_cast<const T*>(g.weight);
  const int64_t k = part.tap_count * g.channels;
  const int64_t start = group * g.weight_group + i * g.weight_row;
  for (int64_t p = 0; p < k; p += kDepth, first += block_size) {
    for_each_tap(g.channels, p, smaller(kDepth, k - p),
                 [&](int64_t tap, int64_t channel, int64_t count, int64_t at) {
                   const int64_t offset =
                       start + part.taps[tap].weight + channel * g.weight_channel;
                   pack<T, Width>(first + at * Width, weight + offset, g.weight_channel,
                                  g.weight_row, count, g.rows - i, g.weight_extent - offset);
                 });
  }
}

// The same where the taps of a channel lie side by side in w: memory is read in its order, some
// vectors of each row at a time, which are transposed.
template <class T, int Width>
void pack_neighbours(const ConvSum& g, const ConvPart& part, int64_t group, int64_t i, T* first,
                     int64_t block_size) {
  constexpr int n = lanes<T>;
  const int64_t taps = part.tap_count, channels = g.channels;
  const bool all = g.weight_channel == taps;  // channels follow one another, too
  const int64_t length = all ? channels * taps : taps, used = smaller(Width, g.rows - i);
  for (int64_t from = 0; from < (all ? 1 : channels); ++from) {
    const int64_t start =
        group * g.weight_group + i * g.weight_row + part.taps[0].weight + from * g.weight_channel;
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
        const int64_t k = tap * channels + channel;
        __builtin_memcpy(first + k / kDepth * block_size + k % kDepth * Width, &block[j],
                         Width * sizeof(T));
        if (++tap == taps) {
          tap = 0;
          ++channel;
        }
      }
    }
  }
}

template <class T, int Width>
void pack_rows(const ConvSum& g, const ConvPart& part, int64_t group, int64_t i, T* first,
               int64_t block_size) {
  if constexpr (Width <= lanes<T>) {
    bool neighbours = part.tap_count > 2;
    for (int64_t t = 0; t < part.tap_count; ++t) {
      neighbours = neighbours && part.taps[t].weight == part.taps[0].weight + t;
    }
    if (neighbours) return pack_neighbours<T, Width>(g, part, group, i, first, block_size);
  }
  pack_weights<T, Width>(g, part, group, i, first, block_size);
}

// ---- One block of pixels.

constexpr int64_t kMostPixels = 512;
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
  int64_t k() const { return part.tap_count * g.channels; }
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

template <class T>
void column_block(const Sums<T>& s, const Block& at, T* panels_b) {
  constexpr int64_t cols = kCols<T>;
  const int64_t k = s.k(), first_channel = s.group * s.g.channels;
  Stretch stretches[kMostPixels];
  int counts[kMostPixels / cols];
  for (int64_t j = at.j; j < at.j_end; j += cols) {
    counts[(j - at.j) / cols] =
        find_stretches(s.g, s.part, j, smaller(cols, at.j_end - j), stretches + (j - at.j));
  }
  for (int64_t p = 0, block = 0; p < k; p += kDepth, ++block) {
    const int64_t depth = smaller(kDepth, k - p);
    const bool last = p + kDepth >= k;
    for (int64_t j = at.j; j < at.j_end; j += cols) {
      gather_columns(s.g, s.part, first_channel, j, at.j_end - j, p, depth,
                     panels_b + (j - at.j) * depth);
    }
    for (int64_t i = at.i; i < at.i_end; i += kRows) {
      const int64_t rows = smaller(kRows, at.i_end - i);
      const int tile = tile_rows(rows);
      const auto multiply = tile == kRows           ? multiply_columns<T, kRows>
                            : tile == kRows * 2 / 3 ? multiply_columns<T, kRows * 2 / 3>
                                                    : multiply_columns<T, kRows / 3>;
      for (int64_t j = 0; j < at.j_end - at.j; j += cols) {
        multiply(s, s.panel(block, i / kRows), panels_b + j * depth, depth, i, rows, stretches + j,
                 counts[j / cols], p > 0, last);
      }
    }
  }
}

// Pixels as rows, channels as columns.
template <class T, int Rows>
void multiply_rows(const Sums<T>& s, const T* panel_a, const T* panel_b, int64_t depth,
                   int64_t column, const Stretch* stretches, int count, bool add, bool last) {
  constexpr int cols = kCols<T>, n = lanes<T>;
  Vec<T> sums[Rows][2] = {};
  add_products<T, Rows>(sums, panel_a, kPanelRow, 1, panel_b, depth);
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
void row_block(const Sums<T>& s, const Block& at, T* panel_a) {
  constexpr int64_t cols = kCols<T>;
  const int64_t k = s.k(), first_channel = s.group * s.g.channels;
  for (int64_t p = 0, block = 0; p < k; p += kDepth, ++block) {
    const int64_t depth = smaller(kDepth, k - p);
    Segment segments[kMostSegments];
    const int segment_count = find_segments(s.g, s.part, first_channel, p, depth, segments);
    for (int64_t j = at.j; j < at.j_end; j += kRows) {
      const int64_t rows = smaller(kRows, at.j_end - j);
      Stretch stretches[kRows];
      const int count = find_stretches(s.g, s.part, j, rows, stretches);
      gather_rows(s.g, s.part, first_channel, j, rows, p, depth, segments, segment_count, panel_a);
      const int tile = tile_rows(rows);
      const auto multiply = tile == kRows           ? multiply_rows<T, kRows>
                            : tile == kRows * 2 / 3 ? multiply_rows<T, kRows * 2 / 3>
                                                    : multiply_rows<T, kRows / 3>;
      for (int64_t i = at.i; i < at.i_end; i += cols) {
        multiply(s, panel_a, s.panel(block, i / cols), depth, i, stretches, count, p > 0,
                 p + kDepth >= k);
      }
    }
  }
}

// ---- Cutting the work into tasks.

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
void sum_parts(const ConvSum& g, const ConvPart* parts, int part_count, int workers) {
  constexpr int64_t cols = kCols<T>;
  const bool turned = channels_as_columns<T>(g);
  const int64_t row_unit = turned ? cols : kRows, pixel_unit = turned ? kRows : cols;
  Cut cuts[kPartsAtOnce];
  Weights<T> weights[kPartsAtOnce];
  int64_t task_ends[kPartsAtOnce], panel_ends[kPartsAtOnce];
  int64_t tasks = 0, panels = 0, size = 0, most_depth = 0, most_pixels = 0;
  for (int i = 0; i < part_count; ++i) {
    const ConvPart& part = parts[i];
    const int64_t k = part.tap_count * g.channels;
    const int64_t pixels = g.batch * part.size[0] * part.size[1] * part.size[2];
    cuts[i] = cut_part(g, pixels, row_unit, pixel_unit,
                       workers == 1 ? 1 : blocks(4 * workers, part_count));
    const int64_t depth = smaller(kDepth, k);
    weights[i].slot = round_up(depth * row_unit + cols, 64);
    weights[i].per_block = blocks(g.rows, row_unit);
    panels += g.groups * weights[i].per_block;
    size += g.groups * blocks(k, kDepth) * weights[i].per_block * weights[i].slot;
    tasks += cuts[i].size(g.groups);
    panel_ends[i] = panels;
    task_ends[i] = tasks;
    if (depth > most_depth) most_depth = depth;
    if (cuts[i].pixels > most_pixels) most_pixels = cuts[i].pixels;
  }
  const int64_t per_worker =
      turned ? kRows * kPanelRow : round_up(most_pixels * most_depth + cols, 64);
  T* scratch = static_cast<T*>(scratch_acquire(size_t(size + workers * per_worker) * sizeof(T)));
  T* next = scratch + workers * per_worker;
  for (int i = 0; i < part_count; ++i) {
    weights[i].panels = next;
    const int64_t k = parts[i].tap_count * g.channels;
    next += g.groups * blocks(k, kDepth) * weights[i].per_block * weights[i].slot;
  }
  run_tasks(panels, size > kGrain ? workers : 1, [&](int64_t task, int64_t) {
    int i = 0;
    while (task >= panel_ends[i]) ++i;
    const int64_t index = i > 0 ? task - panel_ends[i - 1] : task;
    const Weights<T>& own = weights[i];
    const int64_t group = index / own.per_block, panel = index % own.per_block;
    const int64_t row = panel * row_unit, block_size = own.per_block * own.slot;
    const int64_t depth_blocks = blocks(parts[i].tap_count * g.channels, kDepth);
    const int tile = turned ? 0 : tile_rows(g.rows - row);
    const auto pack = turned                  ? pack_weights<T, kCols<T>>
                      : tile == kRows         ? pack_rows<T, kRows>
                      : tile == kRows * 2 / 3 ? pack_rows<T, kRows * 2 / 3>
                                              : pack_rows<T, kRows / 3>;
    T* first = own.panels + group * depth_blocks * block_size + panel * own.slot;
    pack(g, parts[i], group, row, first, block_size);
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
    const int64_t pixel = index % cut.pixel_blocks * cut.pixels;
    const int64_t group = index / cut.pixel_blocks;
    const int64_t depth_blocks = blocks(part.tap_count * g.channels, kDepth);
    Weights<T> own = weights[i];
    own.panels += group * depth_blocks * own.per_block * own.slot;
    const Sums<T> sums = {g, part, own, group};
    const Block block = {group, row, smaller(row + cut.rows, g.rows), pixel,
                         smaller(pixel + cut.pixels, pixels)};
    T* own_scratch = scratch + worker * per_worker;
    turned ? row_block(sums, block, own_scratch) : column_block(sums, block, own_scratch);
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
