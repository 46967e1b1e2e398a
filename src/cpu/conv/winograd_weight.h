// Gradients of the weights of 3 x 3 taps with stride 1 by Winograd's minimal filtering:
//   w = G^T [sum over tiles of (B^T x B) * (A y A^T)] G
// The sums run over tiles, some blocks of them at a time, in an order that follows from shapes.
//
// Not here: values that are not finite. The transforms spread them, and the caller sums again.
#pragma once
#include "cpu/conv/winograd_tiles.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

// Tiles are summed in chunks, and in these some blocks at a time. Where sums are small, each chunk
// has its own, and is a task; else there is one, and all threads take part in it.
struct WinogradWeightPlan {
  TileCut cut;
  int64_t at_once, blocks_per_chunk, chunks;
  int64_t x_tile, y_tile;                // of transformed images
  int64_t x_plane, y_plane, sums_plane;  // sums: panels (planes, channels of x, kCols)
  int64_t panels;
  int64_t transformed_size() const { return kPlanes * (x_plane + y_plane); }
  int64_t sums_size() const { return panels * kPlanes * sums_plane; }
};

constexpr int64_t kBlocksAtOnce = 64;  // at most

inline WinogradWeightPlan plan_winograd(const ConvArgs& g) {
  constexpr int64_t kSums = int64_t{1} << 21, kChunks = 16, kTiles = 64;
  WinogradWeightPlan plan;
  const TileGrid grid = {g.batch, blocks(g.y_size[1], 2), blocks(g.y_size[2], 2)};
  plan.x_tile = odd_lines(g.x_channels);
  plan.y_tile = odd_lines(g.y_channels);
  plan.panels = blocks(g.y_channels, kCols<float>);
  plan.sums_plane = odd_lines(g.x_channels * kCols<float>);
  const bool many = kSums / plan.sums_size() >= 8;
  // Of elements: what a thread has for itself fits its second cache.
  const int64_t room = int64_t{1} << (many ? 17 : 20);
  const int64_t most = room / (kPlanes * (plan.x_tile + plan.y_tile));
  plan.cut = cut_tiles(grid, kTiles);
  plan.at_once = smaller(kBlocksAtOnce, larger(many ? 32 : 128, most) / plan.cut.tiles());
  plan.at_once = equal_part(plan.cut.size(), plan.at_once);
  const int64_t times = blocks(plan.cut.size(), plan.at_once);
  plan.blocks_per_chunk = plan.at_once * (many ? blocks(times, kChunks) : times);
  plan.chunks = blocks(plan.cut.size(), plan.blocks_per_chunk);
  const int64_t tiles = plan.at_once * plan.cut.tiles();
  plan.x_plane = odd_lines(tiles * plan.x_tile);
  plan.y_plane = odd_lines(tiles * plan.y_tile);
  return plan;
}

// A y A^T of a block's tiles.
inline void transform_result(const Images& y, const TileBlock& at, float* vectors, float* to,
                             int64_t tile, int64_t plane) {
  constexpr int64_t L = lanes<float>;
  const Pixels2d pixels = {2 * at.row, 2 * at.column, 2 * at.rows, 2 * at.columns};
  for (int64_t i = 0; i < pixels.size(); i += L) store(vectors + i, Vec<float>{});
  for (int64_t c = 0; c < y.channels; c += L) {
    float* next = to + c;
    for (int64_t n = 0; n < at.images; ++n) {
      read_pixels(y, pixels, at.image + n, c, vectors);
      for (int64_t i = 0; i < at.rows * at.columns; ++i, next += tile) {
        const float* from = vectors + (i / at.columns * 2 * pixels.width + i % at.columns * 2) * L;
        const float* below = from + pixels.width * L;
        const Vec<float> left[] = {load(from), load(below)};
        const Vec<float> right[] = {load(from + L), load(below + L)};
        const Vec<float> l[] = {left[0], left[0] + left[1], left[0] - left[1], -left[1]};
        const Vec<float> r[] = {right[0], right[0] + right[1], right[0] - right[1], -right[1]};
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
          store(next + (4 * k + 0) * plane, l[k]);
          store(next + (4 * k + 1) * plane, l[k] + r[k]);
          store(next + (4 * k + 2) * plane, l[k] - r[k]);
          store(next + (4 * k + 3) * plane, -r[k]);
        }
      }
    }
  }
}

// sums (Rows, Vectors of kCols) = or += x (tiles, Rows)^T y (tiles, Vectors).
template <int Rows, int Vectors>
void add_tiles(const float* x, int64_t x_tile, const float* y, int64_t y_tile, int64_t tiles,
               bool add, float* sums) {
  Vec<float> sum[Rows][Vectors] = {};
  add_products<float, Rows>(sum, x, 1, x_tile, y, tiles, y_tile);
  store_sums(sum, add, sums);
}

// Rows [c, c_end) of a plane's sums in all panels, from so many tiles.
inline void sum_tiles(const ConvArgs& g, const WinogradWeightPlan& plan, const float* x,
                      const float* y, int64_t tiles, int64_t c, int64_t c_end, bool add,
                      float* sums) {
  const int64_t step = equal_part(tiles, kDeepest<float>);
  for (int64_t o = 0; o < g.y_channels; o += kCols<float>, sums += kPlanes * plan.sums_plane) {
    for (int64_t i = 0; i < tiles; i += step) {
      for (int64_t row = c, taken; row < c_end; row += taken) {
        const bool narrow = g.y_channels - o <= lanes<float>;
        const auto add_rows = choose_height<kRows, kRows * 2 / 3, kRows / 2, kRows / 3, 1>(
            c_end - row, &taken, [&](auto height) {
              constexpr int kHeight = decltype(height)::value;
              return narrow ? add_tiles<kHeight, 1> : add_tiles<kHeight, 2>;
            });
        add_rows(x + i * plan.x_tile + row, plan.x_tile, y + i * plan.y_tile + o, plan.y_tile,
                 smaller(step, tiles - i), add || i > 0, sums + row * kCols<float>);
      }
    }
  }
}

// G^T of four vectors.
inline void transform_four(const Lane4& m, Vec<float>* to) {
  const Vec<float> sum = 0.5f * (m[1] + m[2]);
  to[0] = m[0] + sum;
  to[1] = 0.5f * (m[1] - m[2]);
  to[2] = sum + m[3];
}

constexpr int64_t kChannels = 16;  // of x, whose taps are written at once

// Elements [m, m + count) of L rows of w from o on.
inline void write_rows(const ConvArgs& g, const float* vectors, int64_t o, int64_t m,
                       int64_t count) {
  constexpr int64_t L = lanes<float>;
  const int64_t rows = smaller(L, g.y_channels - o), row = 9 * g.x_channels;
  float* const w = static_cast<float*>(g.w) + o * row + m;
  for (int64_t i = 0; i < count; i += L) {
    Vec<float> block[L];
#pragma GCC unroll 16
    for (int k = 0; k < L; ++k) block[k] = load(vectors + smaller(i + k, count - 1) * L);
    transpose<float>(block);
    for (int64_t r = 0; r < rows; ++r) {
      float* const to = w + r * row + i;
      count - i >= L ? store(to, block[r]) : store_partial(to, block[r], count - i);
    }
  }
}

// What w has of channels [c, c + count) of x and L of y from o on; answers whether that is finite.
// A row of w is (channels, taps) in memory or, channels last, (taps, channels).
inline bool write_taps(const ConvArgs& g, const WinogradWeightPlan& plan, const float* sums,
                       int64_t c, int64_t count, int64_t o) {
  constexpr int64_t L = lanes<float>;
  const bool last = g.w_strides[1] == 1;
  const int64_t tap = last ? count * L : L, channel = last ? L : 9 * L;
  float taps[9 * kChannels * L];
  sums += o / kCols<float> * kPlanes * plan.sums_plane + o % kCols<float>;
  Vec<float> nothing{};
  for (int64_t i = 0; i < count; ++i) {
    Vec<float> m[4][4], t[3][4], w[3];
    for (int k = 0; k < 16; ++k) {
      const float* from = sums + k * plan.sums_plane + (c + i) * kCols<float>;
      Vec<float>& sum = m[k % 4][k / 4];
      sum = load(from);
      for (int64_t j = 1; j < plan.chunks; ++j) sum += load(from + j * plan.sums_size());
    }
    for (int k = 0; k < 4; ++k) {
      transform_four(m[k], w);
      for (int j = 0; j < 3; ++j) t[j][k] = w[j];
    }
    for (int j = 0; j < 3; ++j) {
      transform_four(t[j], w);
      for (int k = 0; k < 3; ++k) {
        nothing += w[k] * 0;
        store(taps + i * channel + (3 * j + k) * tap, w[k]);
      }
    }
  }
  for (int64_t t = 0; t < (last ? 9 : 1); ++t) {
    write_rows(g, taps + t * tap, o, last ? t * g.x_channels + c : 9 * c, last ? count : 9 * count);
  }
  bool finite = true;
  for (int64_t i = 0; i < smaller(L, g.y_channels - o); ++i) finite = finite && nothing[i] == 0;
  return finite;
}

inline bool is_square(const ConvArgs& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.taps[d] != (d == 0 ? 1 : 3) || g.stride[d] != 1 || g.dilation[d] != 1) return false;
  }
  return g.groups == 1 && g.x_size[0] == 1 && g.y_size[0] == 1 && g.padding[0] == 0;
}

inline Images images_of(void* data, int64_t batch, int64_t channels, const int64_t* size,
                        const int64_t* strides) {
  const int64_t extent = (batch - 1) * strides[0] + (channels - 1) * strides[1] +
                         (size[1] - 1) * strides[3] + (size[2] - 1) * strides[4] + 1;
  return {static_cast<float*>(data),
          strides[0],
          strides[1],
          strides[3],
          strides[4],
          channels,
          size[1],
          size[2],
          extent};
}

// As run_tasks, which a task may call with one worker.
template <class Task>
void run_parts(int64_t count, int workers, const Task& task) {
  if (workers > 1) return run_tasks(count, workers, task);
  for (int64_t index = 0; index < count; ++index) task(index, 0);
}

// The sums of a chunk; `memory`: transformed images, and vectors for each worker.
inline void sum_chunk(const ConvArgs& g, const WinogradWeightPlan& plan, int64_t chunk, int workers,
                      float* memory, int64_t vectors_size, float* sums) {
  const Images x = images_of(g.x, g.batch, g.x_channels, g.x_size, g.x_strides);
  const Images y = images_of(g.y, g.batch, g.y_channels, g.y_size, g.y_strides);
  float *const of_x = memory, *const of_y = of_x + kPlanes * plan.x_plane;
  float* const vectors = memory + plan.transformed_size();
  const int64_t begin = chunk * plan.blocks_per_chunk;
  const int64_t end = smaller(plan.cut.size(), begin + plan.blocks_per_chunk);
  for (int64_t first = begin; first < end; first += plan.at_once) {
    const int64_t count = smaller(plan.at_once, end - first);
    int64_t before[kBlocksAtOnce + 1] = {};  // tiles
    for (int64_t i = 0; i < count; ++i) before[i + 1] = before[i] + plan.cut.at(first + i).tiles();
    run_parts(2 * count, workers, [&](int64_t task, int64_t worker) {
      const int64_t i = task / 2;
      const TileBlock at = plan.cut.at(first + i);
      float* const own = vectors + worker * vectors_size;
      if (task % 2 == 0) {
        transform_block(x, at, -g.padding[1], -g.padding[2], own, of_x + before[i] * plan.x_tile,
                        plan.x_tile, plan.x_plane);
      } else {
        transform_result(y, at, own, of_y + before[i] * plan.y_tile, plan.y_tile, plan.y_plane);
      }
    });
    const int64_t wanted = workers == 1 ? 1 : blocks(4 * workers, kPlanes);
    const int64_t step = round_up(blocks(g.x_channels, wanted), kRows);
    const int64_t parts = blocks(g.x_channels, step);
    run_parts(kPlanes * parts, workers, [&](int64_t task, int64_t) {
      const int64_t plane = task / parts, c = task % parts * step;
      sum_tiles(g, plan, of_x + plane * plan.x_plane, of_y + plane * plan.y_plane, before[count], c,
                smaller(g.x_channels, c + step), first > begin, sums + plane * plan.sums_plane);
    });
  }
}

// Answers false if the result is not finite.
inline bool weight_by_winograd(const ConvArgs& g) {
  const WinogradWeightPlan plan = plan_winograd(g);
  const int workers = num_threads();
  const TileGrid& block = plan.cut.block;
  const int64_t vectors_size = (2 * block.rows + 2) * (2 * block.columns + 2) * lanes<float>;
  const int64_t sums_size = plan.chunks * plan.sums_size();
  const int64_t transformed = (plan.chunks > 1 ? workers : 1) * plan.transformed_size();
  const Scratch<float> memory(sums_size + transformed + workers * vectors_size);
  float *const sums = memory.data, *const own = sums + sums_size;
  if (plan.chunks == 1) {
    sum_chunk(g, plan, 0, workers, own, vectors_size, sums);
  } else {
    run_tasks(plan.chunks, workers, [&](int64_t chunk, int64_t worker) {
      sum_chunk(g, plan, chunk, 1, own + worker * (plan.transformed_size() + vectors_size),
                vectors_size, sums + chunk * plan.sums_size());
    });
  }
  const int64_t columns = blocks(g.y_channels, lanes<float>);
  bool finite = true;
  // Columns before rows: those of a block share pages of memory.
  run_tasks(columns * blocks(g.x_channels, kChannels), workers, [&](int64_t task, int64_t) {
    const int64_t o = task % columns * lanes<float>, c = task / columns * kChannels;
    if (!write_taps(g, plan, sums, c, smaller(kChannels, g.x_channels - c), o)) {
      __atomic_store_n(&finite, false, __ATOMIC_RELAXED);
    }
  });
  return finite;
}

// Whether that pays, by shape alone (see winograd.h): here both y and sums are transformed.
inline bool pays_by_winograd(const ConvArgs& g) {
  const int64_t rows = blocks(g.y_size[1], 2), columns = blocks(g.y_size[2], 2);
  return g.winograd && g.x_channels >= 24 && g.y_channels >= 24 &&
         g.batch * rows * columns >= 128 && 5 * 4 * rows * columns <= 6 * g.y_size[1] * g.y_size[2];
}

}  // namespace
}  // namespace tt::cpu
