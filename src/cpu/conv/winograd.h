// Convolutions of 3 x 3 taps with stride 1 by Winograd's minimal filtering: y, and the gradient of
// x. The weights are transformed once, the source a block of tiles at a time; an element's sum runs
// over channels alone, so that no layout, block or number of threads changes a bit of it.
//
// Not here: values that are not finite. The transforms spread them, and the caller sums again.
#pragma once
#include "cpu/conv/pack.h"
#include "cpu/conv/winograd_tiles.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

// The taps of a sum as a square of 3 x 3, from the lowest shifts on; tap is their index.
struct Square {
  int tap[3][3];
};

// Whether that is what the taps are.
inline bool find_square(const ConvSum& g, Square& square) {
  const ConvPart& part = g.parts[0];
  if (g.part_count != 1 || g.groups != 1 || part.tap_count != 9) return false;
  if (part.size[0] != 1 || part.lowest_shift[0] != 0 || part.highest_shift[0] != 0) return false;
  if (g.step[1] != 1 || g.step[2] != 1) return false;
  int found = 0;
  for (int t = 0; t < 9; ++t) {
    const int64_t i = part.taps[t].shift[1] - part.lowest_shift[1];
    const int64_t j = part.taps[t].shift[2] - part.lowest_shift[2];
    if (i > 2 || j > 2) return false;
    square.tap[i][j] = t;
    found |= 1 << (3 * i + j);
  }
  return found == (1 << 9) - 1;
}

// G g: three elements to four.
inline void transform_three(const Vec<float>& g0, const Vec<float>& g1, const Vec<float>& g2,
                            Lane4& t) {
  const Vec<float> outer = 0.5f * (g0 + g2), middle = 0.5f * g1;
  t[0] = g0;
  t[1] = outer + middle;
  t[2] = outer - middle;
  t[3] = g2;
}

struct WinogradPlan {
  Square square;
  TileCut cut;
  int64_t panels, panels_per_task;  // of rows
  int64_t weight_plane;             // of a panel
  int64_t tile, source_plane;       // of the transformed source
  int64_t sums_plane;
  int64_t panel_size() const { return kPlanes * weight_plane; }
};

constexpr int64_t kFilters = 16;  // channels whose weights are packed at once

// Panel `index` of (planes, channels, kCols), channels [c, c + count).
inline void transform_weights(const ConvSum& g, const WinogradPlan& plan, int64_t index, int64_t c,
                              int64_t count, float* panel) {
  constexpr int n = lanes<float>, cols = kCols<float>;
  float packed[9 * kFilters * n + cols];
  for (int64_t half = 0; half < cols; half += n) {
    const int64_t row = index * cols + half;
    if (row >= g.rows) break;
    pack_rows<float, n>(g, g.parts[0], {c, count, 0, 9}, 0, row, packed);
    for (int64_t k = 0; k < count; ++k) {
      Lane4 t[3], u;
      for (int j = 0; j < 3; ++j) {
        const auto tap = [&](int i) {
          return load(packed + (plan.square.tap[i][j] * count + k) * n);
        };
        transform_three(tap(0), tap(1), tap(2), t[j]);
      }
      float* to = panel + (c + k) * cols + half;
      for (int i = 0; i < 4; ++i) {
        transform_three(t[0][i], t[1][i], t[2][i], u);
        for (int j = 0; j < 4; ++j) store(to + (4 * i + j) * plan.weight_plane, u[j]);
      }
    }
  }
}

// sums (Rows, Vectors of kCols) = or += v (Rows, depth) u (depth, kCols).
template <int Rows, int Vectors>
void multiply_plane(const float* v, int64_t tile, const float* u, int64_t depth, bool add,
                    float* sums) {
  Vec<float> sum[Rows][Vectors] = {};
  add_products<float, Rows>(sum, v, tile, 1, u, depth);
  store_sums(sum, add, sums);
}

// All planes of a panel's sums (planes, tiles, kCols).
template <int Vectors>
void multiply_planes(const ConvSum& g, const WinogradPlan& plan, int64_t tiles, const float* source,
                     const float* panel, float* sums) {
  const int64_t step = block_depth<float>(g.channels);
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    const float *v = source + plane * plan.source_plane, *u = panel + plane * plan.weight_plane;
    float* to = sums + plane * plan.sums_plane;
    for (int64_t c = 0; c < g.channels; c += step) {
      const int64_t depth = smaller(step, g.channels - c);
      for (int64_t i = 0, taken; i < tiles; i += taken) {
        const auto multiply = choose_height<kRows, kRows * 2 / 3, kRows / 2, kRows / 3, 1>(
            tiles - i, &taken,
            [](auto height) { return multiply_plane<decltype(height)::value, Vectors>; });
        multiply(v + i * plan.tile + c, plan.tile, u + c * kCols<float>, depth, c > 0,
                 to + i * kCols<float>);
      }
    }
  }
}

// A^T m A + bias of the tiles of an image, as vectors of pixels; answers 0 or, where a lane has
// values that are not finite, NaN.
inline Vec<float> transform_sums(const float* sums, int64_t plane, const TileBlock& at,
                                 Vec<float> bias, float* vectors) {
  constexpr int64_t L = lanes<float>;
  const int64_t width = 2 * at.columns * L;
  Vec<float> nothing{};
  for (int64_t i = 0; i < at.rows; ++i, vectors += 2 * width) {
    for (int64_t j = 0; j < at.columns; ++j, sums += kCols<float>) {
      Vec<float> t[2][4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        const float* m = sums + k * plane;
        const Vec<float> m0 = load(m), m1 = load(m + 4 * plane), m2 = load(m + 8 * plane),
                         m3 = load(m + 12 * plane);
        t[0][k] = m0 + (m1 + m2);
        t[1][k] = (m1 - m2) - m3;
      }
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r) {
        const Vec<float> left = t[r][0] + (t[r][1] + t[r][2]) + bias;
        const Vec<float> right = (t[r][1] - t[r][2]) - t[r][3] + bias;
        nothing += left * 0 + right * 0;
        store(vectors + r * width + 2 * j * L, left);
        store(vectors + r * width + (2 * j + 1) * L, right);
      }
    }
  }
  return nothing;
}

// Rows [row, row + L) of a block's result, from their sums; answers whether all is finite.
inline bool write_result(const ConvSum& g, const WinogradPlan& plan, const Images& result,
                         const TileBlock& at, int64_t row, const float* sums, float* vectors) {
  const int64_t count = smaller(lanes<float>, g.rows - row), tiles = at.rows * at.columns;
  Vec<float> bias{}, nothing{};
  for (int64_t i = 0; i < count && g.bias; ++i) {
    bias[i] = element(static_cast<const float*>(g.bias) + (row + i) * g.bias_stride);
  }
  for (int64_t n = 0; n < at.images; ++n, sums += tiles * kCols<float>) {
    nothing += transform_sums(sums, plan.sums_plane, at, bias, vectors);
    write_pixels(result, {2 * at.row, 2 * at.column, 2 * at.rows, 2 * at.columns}, at.image + n,
                 row, vectors);
  }
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) finite = finite && nothing[i] == 0;
  return finite;
}

constexpr int64_t kSourceSize = int64_t{1} << 18;  // elements of a block's transformed source

inline WinogradPlan plan_winograd(const ConvSum& g, const Square& square, int workers) {
  const ConvPart& part = g.parts[0];
  const TileGrid grid = {g.batch, blocks(part.size[1], 2), blocks(part.size[2], 2)};
  WinogradPlan plan;
  plan.square = square;
  plan.tile = odd_lines(g.channels);
  plan.panels = plan.panels_per_task = blocks(g.rows, kCols<float>);
  plan.weight_plane = odd_lines(g.channels * kCols<float>);
  // The fewer tiles, the more often are weights read.
  int64_t most = larger(4 * kRows, smaller(256, kSourceSize / (kPlanes * plan.tile)));
  const int64_t wanted = workers == 1 ? 1 : 4 * workers;
  plan.cut = cut_tiles(grid, most);
  while (plan.cut.size() < wanted && most >= 8 * kRows) plan.cut = cut_tiles(grid, most /= 2);
  if (plan.cut.size() < wanted && workers > 1) {
    plan.panels_per_task = equal_part(plan.panels, blocks(plan.panels * plan.cut.size(), wanted));
  }
  plan.source_plane = odd_lines(plan.cut.tiles() * plan.tile);
  plan.sums_plane = odd_lines(plan.cut.tiles() * kCols<float>);
  return plan;
}

// Answers false if the result is not finite.
inline bool sum_by_winograd(const ConvSum& g, const Square& square, int workers) {
  const ConvPart& part = g.parts[0];
  const WinogradPlan plan = plan_winograd(g, square, workers);
  const Images source = {static_cast<float*>(const_cast<void*>(g.source)),
                         g.source_strides[0],
                         g.source_strides[1],
                         g.source_strides[3],
                         g.source_strides[4],
                         g.channels,
                         g.source_size[1],
                         g.source_size[2],
                         g.source_extent};
  const Images result = {static_cast<float*>(g.result) + part.result,
                         g.result_batch,
                         g.result_row,
                         part.strides[1],
                         part.strides[2],
                         g.rows,
                         part.size[1],
                         part.size[2],
                         0};
  const TileGrid& block = plan.cut.block;
  const int64_t source_size = kPlanes * plan.source_plane, sums_size = kPlanes * plan.sums_plane;
  const int64_t vectors_size = (2 * block.rows + 2) * (2 * block.columns + 2) * lanes<float>;
  const int64_t per_worker = source_size + sums_size + round_up(vectors_size, 16);
  const Scratch<float> memory(plan.panels * plan.panel_size() + workers * per_worker);
  float *const weights = memory.data, *const own = weights + plan.panels * plan.panel_size();
  const int64_t packs = blocks(g.channels, kFilters);
  run_tasks(plan.panels * packs, workers, [&](int64_t task, int64_t) {
    const int64_t index = task / packs, c = task % packs * kFilters;
    transform_weights(g, plan, index, c, smaller(kFilters, g.channels - c),
                      weights + index * plan.panel_size());
  });
  const int64_t parts = blocks(plan.panels, plan.panels_per_task);
  bool finite = true;
  run_tasks(plan.cut.size() * parts, workers, [&](int64_t task, int64_t worker) {
    const TileBlock at = plan.cut.at(task / parts);
    float *const transformed = own + worker * per_worker, *const sums = transformed + source_size;
    float* const vectors = sums + sums_size;
    transform_block(source, at, part.lowest_shift[1], part.lowest_shift[2], vectors, transformed,
                    plan.tile, plan.source_plane);
    const int64_t first = task % parts * plan.panels_per_task;
    const int64_t end = smaller(plan.panels, first + plan.panels_per_task);
    for (int64_t index = first; index < end; ++index) {
      const int64_t row = index * kCols<float>, left = g.rows - row;
      const auto multiply = left > lanes<float> ? multiply_planes<2> : multiply_planes<1>;
      multiply(g, plan, at.tiles(), transformed, weights + index * plan.panel_size(), sums);
      for (int64_t i = 0; i < smaller(left, kCols<float>); i += lanes<float>) {
        if (!write_result(g, plan, result, at, row + i, sums + i, vectors)) {
          __atomic_store_n(&finite, false, __ATOMIC_RELAXED);
        }
      }
    }
  });
  return finite;
}

// Whether the square pays, by shape alone: measured from 3 to 512 channels. Few channels do not pay
// for the transforms, few tiles not for those of the weights; so many pixels of tiles may lie
// outside of the result.
inline bool pays_by_winograd(const ConvSum& g) {
  const ConvPart& part = g.parts[0];
  const int64_t rows = blocks(part.size[1], 2), columns = blocks(part.size[2], 2);
  return g.winograd && g.channels >= 16 && g.rows >= 16 && g.batch * rows * columns >= 64 &&
         5 * 4 * rows * columns <= 7 * part.size[1] * part.size[2];
}

}  // namespace
}  // namespace tt::cpu
