// Parts of a convolution's sum, cut into tasks: blocks of rows and pixels of the result.
#pragma once
#include "cpu/conv/block.h"
#include "cpu/conv/rows.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"

namespace tt::cpu {
namespace {

// Whether channels are columns of the product: if they are next to each other in the result, and
// enough to fill a vector.
template <class T>
bool channels_as_columns(const ConvSum& g) {
  return g.result_row == 1 && g.rows * 2 > lanes<T>;
}

// Tasks of a part: blocks of (rows, pixels), or of rows for all pixels if those are to stay whole,
// for every group.
struct Cut {
  int64_t rows, pixels, row_blocks, pixel_blocks;
  int64_t size(int64_t groups) const { return groups * row_blocks * pixel_blocks; }
};

Cut cut_part(const ConvSum& g, int64_t pixels, int64_t row_unit, int64_t pixel_unit, bool whole,
             int64_t wanted) {
  int64_t rows = round_up(g.rows, row_unit),
          columns = smaller(kMostPixels, round_up(pixels, pixel_unit));
  while (g.groups * blocks(g.rows, rows) * blocks(pixels, columns) < wanted) {
    // The fewer pixels, the more often are weights read.
    if (!whole && columns >= (rows >= 4 * row_unit ? 256 : 4 * pixel_unit)) {
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

// How a part is computed.
template <class T>
struct Way {
  bool packed;  // the weights
  Cut cut;
  Weights<T> weights;
};

// Weights that are packed by each task: all pixels are one block, and weights enough.
constexpr int64_t kOwnWeights = int64_t{1} << 16;

template <class T>
Way<T> choose_way(const ConvSum& g, const ConvPart& part, int64_t part_count, int workers) {
  constexpr int64_t cols = kCols<T>;
  const int64_t pixels = g.batch * pixels_of(part);
  const SumOrder order = order_of<T>(g, part);
  Way<T> way;
  // A single tile would use panels but once, and goes without unless rows of w lie side by side.
  way.packed =
      pixels > cols || (pixels > kRows / 3 && channels_as_columns<T>(g) && g.weight_row == 1);
  const bool turned = way.packed && channels_as_columns<T>(g);
  const bool each = way.packed && pixels <= kMostPixels && g.rows >= 4 * workers * kRows &&
                    g.rows * g.channels * part.tap_count >= kOwnWeights;
  const int64_t row_unit = turned ? cols : kRows, pixel_unit = turned ? kRows : cols;
  const int64_t tasks = workers == 1 ? 1 : blocks((each ? 1 : 4) * workers, part_count);
  way.cut = cut_part(g, pixels, row_unit, pixel_unit, each, tasks);
  const int64_t slot = round_up(order.depth() * row_unit + cols, 64);
  way.weights = {nullptr, order, way.packed ? slot : 0, blocks(g.rows, row_unit), turned, each};
  return way;
}

template <class T>
void sum_parts(const ConvSum& g, const ConvPart* parts, int part_count, int workers) {
  constexpr int64_t cols = kCols<T>;
  Way<T> ways[kPartsAtOnce];
  int64_t task_ends[kPartsAtOnce], panel_ends[kPartsAtOnce];
  int64_t tasks = 0, panels = 0, size = 0, panel_size = 0, window_size = 0;
  int64_t kept_size = 0, own_size = 0;
  for (int i = 0; i < part_count; ++i) {
    const ConvPart& part = parts[i];
    Way<T>& way = ways[i];
    way = choose_way<T>(g, part, part_count, workers);
    const bool before = way.packed && !way.weights.each;
    size += before ? g.groups * way.weights.group_size() : 0;
    panels += before ? g.groups * way.weights.per_block : 0;
    if (way.weights.each) {
      const int64_t own = blocks(way.cut.rows, way.weights.width()) * way.weights.slot;
      if (own > own_size) own_size = own;
    }
    tasks += way.cut.size(g.groups);
    panel_ends[i] = panels;
    task_ends[i] = tasks;
    const SumOrder& order = way.weights.order;
    const int64_t panel = way.weights.turned
                              ? kTilesAtOnce * kRows * kPanelRow
                              : smaller(way.cut.pixels, kPixelsAtOnce) * order.depth() + cols;
    const int64_t window = Window<T>::size_of(g, part, order.channel_step);
    if (panel > panel_size) panel_size = panel;
    if (window > window_size) window_size = window;
    const int64_t kept = round_up(way.cut.rows, kRows) * way.cut.pixels;
    if (!way.weights.turned && keeps_sums(part, order) && kept > kept_size) kept_size = kept;
  }
  panel_size = round_up(panel_size, 64);
  window_size = round_up(window_size, 64);
  const int64_t per_worker = panel_size + window_size + own_size + round_up(kept_size, 64);
  const Scratch<T> scratch(size + workers * per_worker);
  T* next = scratch.data + workers * per_worker;
  for (int i = 0; i < part_count; ++i) {
    if (!ways[i].packed || ways[i].weights.each) continue;
    ways[i].weights.panels = next;
    next += g.groups * ways[i].weights.group_size();
  }
  run_tasks(panels, size > kGrain ? workers : 1, [&](int64_t task, int64_t) {
    int i = 0;
    while (task >= panel_ends[i]) ++i;
    const int64_t index = i > 0 ? task - panel_ends[i - 1] : task;
    Weights<T> own = ways[i].weights;
    const int64_t group = index / own.per_block, row = index % own.per_block * own.width();
    own.panels += group * own.group_size();
    for (int64_t b = 0; b < own.order.size(); ++b) pack_panel(g, parts[i], own, group, b, row);
  });
  run_tasks(tasks, workers, [&](int64_t task, int64_t worker) {
    int i = 0;
    while (task >= task_ends[i]) ++i;
    int64_t index = i > 0 ? task - task_ends[i - 1] : task;
    const ConvPart& part = parts[i];
    const Cut& cut = ways[i].cut;
    const int64_t pixels = g.batch * pixels_of(part);
    const int64_t row = index % cut.row_blocks * cut.rows;
    index /= cut.row_blocks;
    // Groups before pixels: where channels are last, they share lines of memory.
    const int64_t group = index % g.groups, pixel = index / g.groups * cut.pixels;
    Weights<T> own = ways[i].weights;
    T *panel = scratch.data + worker * per_worker, *window = panel + panel_size;
    T *own_panels = window + window_size, *kept = own_panels + own_size;
    if (own.each) {
      own.panels = own_panels - row / own.width() * own.slot;
    } else if (own.panels) {
      own.panels += group * own.group_size();
    }
    const Sums<T> sums = {g, part, own, group};
    const Block block = {group, row, smaller(row + cut.rows, g.rows), pixel,
                         smaller(pixel + cut.pixels, pixels)};
    if (ways[i].weights.turned) {
      row_block(sums, block, panel, window);
    } else if (ways[i].packed && reads_in_place<T>(g, part)) {
      block_in_place(sums, block, window);
    } else {
      column_block(sums, block, panel, window, kept);
    }
  });
}

}  // namespace
}  // namespace tt::cpu
