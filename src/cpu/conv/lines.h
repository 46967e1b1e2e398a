// How the pixels of y are walked for the gradient of a convolution's weights: lines of pixels along
// one dim, blocks of lines, and chunks of blocks; and what a tap sees of a line in x.
#pragma once
#include "cpu/conv/gather.h"
#include "cpu/infra/tasks.h"

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
  int64_t x_step, y_step;     // from a pixel of a line to the next
  int64_t segment, segments;  // pixels of a line at most; lines in a row of pixels
  int64_t lines_per_block, block, blocks_per_chunk, chunks;  // block: pixels at most
  int64_t taps, columns;                                     // channels of y, rounded up to panels
  int64_t channels_per_task;                                 // of x
  // Where nothing is left to add, tasks sum channels of y and write them, while those are in the
  // caches: of so many, 0 if that does not pay.
  int64_t written_per_task;
};

constexpr int64_t kKeptSums = int64_t{1} << 18;

template <class T>
WeightPlan plan_weight(const ConvArgs& g, int workers) {
  WeightPlan plan;
  plan.taps = g.taps[0] * g.taps[1] * g.taps[2];
  plan.columns = round_up(g.y_channels, kCols<T>);
  plan.size[0] = g.batch;
  for (int d = 0; d < 3; ++d) plan.size[d + 1] = g.y_size[d];
  // Short rows leave no room for the loop; then pixels of other images follow.
  plan.along = g.y_size[2] < 4 && g.batch > g.y_size[2] ? 0 : 3;
  plan.x_step = plan.along == 0 ? g.x_strides[0] : g.x_strides[4] * g.stride[2];
  plan.y_step = plan.along == 0 ? g.y_strides[0] : g.y_strides[4];
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
  // With groups, all read each chunk, so it should stay in the cache.
  plan.blocks_per_chunk = blocks(all_blocks, smaller(room, g.groups > 1 ? all_blocks : 8));
  if (plan.blocks_per_chunk < 2) plan.blocks_per_chunk = 2;
  plan.chunks = blocks(all_blocks, plan.blocks_per_chunk);
  // Every task packs y anew, so channels of x are divided only as far as there is need.
  const int64_t tasks = plan.chunks * g.groups;
  const int64_t wanted = workers == 1 ? 1 : blocks(4 * workers, tasks);
  plan.channels_per_task = round_up(blocks(g.x_channels, wanted), kRows);
  const bool writes = plan.chunks == 1 && weights > 2 * kKeptSums && g.x_channels >= 16;
  const int64_t most = smaller(kKeptSums / (plan.taps * g.x_channels),
                               g.y_channels / (workers == 1 ? 1 : blocks(4 * workers, g.groups)));
  plan.written_per_task = !writes ? 0 : most > kCols<T> ? most / kCols<T> * kCols<T> : kCols<T>;
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
    overlaps[found++] = {x + span.low * plan.x_step, lines[i].place + span.low,
                         span.high - span.low};
  }
  return found;
}

}  // namespace
}  // namespace tt::cpu
