// Convolutions of bfloat16 by tiles, with sums in float32, rounded once. Built for instruction sets
// that have tiles, or stand for these.
//
// y, and the gradient of x: weights are rows of A, pixels are columns of B, and neither is
// gathered: a tile of B is 16 pairs of channels and 16 pixels that lie side by side in planes of
// pairs (tile_planes.h). The gradient of w sums over pixels: rows of A are the channels of x, whose
// planes are moved by a tap's offset, and B has pairs of pixels of y. The sum of an element goes
// on in one tile, over (tap, channel) or over images and their pixels: it follows from the shape.
#include "core/tables/conv.h"
#include "cpu/conv/tile_planes.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

constexpr int kSide = 2 * kTile;          // rows and columns of a block of sums
constexpr int64_t kMostWindow = 1 << 17;  // entries that a task packs, if a row has not more

void set(bool& flag) { __atomic_store_n(&flag, true, __ATOMIC_RELAXED); }

// ---- y and x ------------------------------------------------------------------------------------

// A task: some images, or a band of rows of one.
struct TileSum {
  const ConvSum& g;
  const ConvPart& part;
  int64_t groups;  // of 32 channels
  int64_t images;  // at a time
  int dim;         // which bands cut
  int64_t bands, band;
  Planes planes;
  int64_t image, channel, steps;  // entries of an image, and from a pair of channels to the next

  TileSum(const ConvSum& g, const ConvPart& part, int workers)
      : g(g),
        part(part),
        groups(blocks(g.channels, kStep)),
        dim(part.size[0] > 1   ? 0
            : part.size[1] > 1 ? 1
                               : 2),
        planes(part, g.step, g.source_size, dim, part.size[dim]) {
    const int64_t window = planes.phase_count * groups * kTile * planes.plane();
    images = smaller(g.batch, larger(1, 1024 / planes.plane()));
    bands = larger(blocks(window, kMostWindow), blocks(2 * workers, blocks(g.batch, images)));
    band = blocks(part.size[dim], smaller(bands, part.size[dim]));
    bands = blocks(part.size[dim], band);
    if (bands > 1) images = 1, planes = Planes(part, g.step, g.source_size, dim, band);
    image = planes.plane();
    // An odd number of lines of the cache: 16 of them keep to different sets.
    channel = (blocks(images * image, kTile) | 1) * kTile;
    steps = part.tap_count * groups;
  }

  int64_t window_size() const {
    return planes.phase_count * groups * kTile * channel + image + 2 * kSide;
  }
  // Two planes of halves.
  int64_t lines_size() const { return images * image + kSide; }
};

// Rows [32 r, 32 r + 32) of weights: two tiles (16 rows, 16 pairs of channels) for each step.
bool pack_rows(const TileSum& s, int64_t r, uint32_t* to) {
  const ConvSum& g = s.g;
  const auto* const weight = static_cast<const BFloat16*>(g.weight);
  auto* const halves = reinterpret_cast<BFloat16*>(to);
  const int64_t rows = smaller(kSide, g.rows - r * kSide), size = s.steps * 2 * kTileSize * 2;
  clear(halves, size);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t c = 0; c < g.channels; ++c) {
      const BFloat16* from = weight + (r * kSide + m) * g.weight_row + c * g.weight_channel;
      BFloat16* place =
          halves + (c / kStep * 2 + m / kTile) * 2 * kTileSize + m % kTile * kStep + c % kStep;
      for (int64_t t = 0; t < s.part.tap_count; ++t, place += s.groups * 4 * kTileSize)
        *place = element(from + s.part.taps[t].weight);
    }
  }
  return has_special(halves, size);
}

// The window of a task: pairs of channels (phase, pair, image, plane).
bool pack_window(const TileSum& s, int64_t first, int64_t count, const int64_t* moved,
                 uint32_t* window, BFloat16* lines) {
  const ConvSum& g = s.g;
  const int64_t size = count * s.image, pairs = s.groups * kTile;
  bool special = false;
  for (int f = 0; f < s.planes.phase_count; ++f) {
    for (int64_t q = 0; q < pairs; ++q, window += s.channel) {
      for (int c = 0; c < 2; ++c) {
        BFloat16* const line = lines + c * s.lines_size();
        if (2 * q + c >= g.channels) {
          clear(line, size);
          continue;
        }
        const auto* const source = static_cast<const BFloat16*>(g.source) +
                                   first * g.source_strides[0] + (2 * q + c) * g.source_strides[1];
        for (int64_t i = 0; i < count; ++i)
          copy_plane(line + i * s.image, source + i * g.source_strides[0], g.source_strides + 2,
                     s.planes, s.planes.phases[f], moved);
        special = special || has_special(line, size);
      }
      for (int64_t i = 0; i < size; i += lanes<float>)
        store(window + i, Pair::across(lines + i, lines + s.lines_size() + i));
    }
  }
  return special;
}

// Where the sums of 32 pixels go.
struct Target {
  BFloat16* to;  // of row 0
  int64_t place, length;
};

void store_row(BFloat16* to, const float* sums, Vec<float> bias, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes<float>)
    Front<float>(count - i).store(to + i, load(sums + i) + bias);
}

// Writes `rows` of sums (32, 32), of the pixels that are asked for, with their bias.
void write_sums(const ConvSum& g, const Target* targets, int count, int64_t first_row, int64_t rows,
                int64_t along, const float* sums) {
  const auto* const bias = static_cast<const BFloat16*>(g.bias);
  for (int64_t r = 0; r < rows; ++r, sums += kSide) {
    const int64_t row = first_row + r;
    const float more = bias ? float(bias[row * g.bias_stride]) : 0.0f;
    for (int i = 0; i < count; ++i) {
      BFloat16* const to = targets[i].to + row * g.result_row;
      const float* const from = sums + targets[i].place;
      if (along == 1) {
        store_row(to, from, splat(more), targets[i].length);
      } else {
        for (int64_t p = 0; p < targets[i].length; ++p) to[p * along] = BFloat16(from[p] + more);
      }
    }
  }
}

void sum_task(const TileSum& s, int64_t task, const uint32_t* weights, const int64_t* offsets,
              uint32_t* window, float* sums, bool& special) {
  const ConvSum& g = s.g;
  const int64_t first = task / s.bands * s.images, start = task % s.bands * s.band;
  const int64_t count = smaller(s.images, g.batch - first);
  int64_t moved[3] = {0, 0, 0}, size[3];
  std::memcpy(size, s.planes.size, sizeof size);
  moved[s.dim] = start;
  size[s.dim] = smaller(s.band, s.part.size[s.dim] - start);
  BFloat16* const lines = reinterpret_cast<BFloat16*>(window + s.window_size());
  if (pack_window(s, first, count, moved, window, lines)) return set(special);
  const int64_t* const strides = s.part.strides;
  BFloat16* const result = static_cast<BFloat16*>(g.result) + s.part.result +
                           first * g.result_batch + start * strides[s.dim];
  const int64_t pixels = (count - 1) * s.image + s.planes.reach();
  Tiles tiles;
  for (int64_t r = 0; r * kSide < g.rows; ++r) {
    const uint32_t* const own = weights + r * s.steps * 2 * kTileSize;
    const int64_t rows = smaller(kSide, g.rows - r * kSide);
    const TileLines a{[=](int64_t q) { return own + q * 2 * kTileSize; }, 4 * kTile, 4 * kTileSize};
    for (int64_t j = 0; j < pixels; j += kSide) {
      const uint32_t* const here = window + j;
      const TileLines b{[=](int64_t q) { return here + offsets[q]; }, 4 * s.channel, 4 * kTile};
      multiply_tiles(tiles, a, b, s.steps, rows, pixels - j, sums, kSide, false);
      Target targets[kSide];
      int found = 0;
      for (int64_t at = j; at < smaller(j + kSide, pixels);) {
        const int64_t i = at / s.image, left = smaller(j + kSide, (i + 1) * s.image) - at;
        for_pixels(s.planes, size, at % s.image, left,
                   [&](int64_t place, int64_t length, int64_t d, int64_t h, int64_t w) {
                     targets[found++] = {result + i * g.result_batch + d * strides[0] +
                                             h * strides[1] + w * strides[2],
                                         at - j + place, length};
                   });
        at += left;
      }
      write_sums(g, targets, found, r * kSide, rows, strides[2], sums);
    }
  }
}

bool sum_part(const ConvSum& g, const ConvPart& part, int workers) {
  const TileSum s(g, part, workers);
  const int64_t row_blocks = blocks(g.rows, kSide), panel = s.steps * 2 * kTileSize;
  const int64_t sums_size = kSide * kSide + kCols<float>;
  const int64_t per_worker = round_up(s.window_size() + s.lines_size() + sums_size, kTile);
  const Scratch<uint32_t> weights(row_blocks * panel), memory(workers * per_worker);
  const Scratch<int64_t> offsets(s.steps);
  for (int64_t q = 0; q < s.steps; ++q) {
    const int64_t t = q / s.groups, pair = (s.planes.phase[t] * s.groups + q % s.groups) * kTile;
    offsets.data[q] = pair * s.channel + s.planes.offset[t];
  }
  bool special = false;
  run_tasks(row_blocks, workers, [&](int64_t r, int64_t) {
    if (pack_rows(s, r, weights.data + r * panel)) set(special);
  });
  if (special) return false;
  run_tasks(blocks(g.batch, s.images) * s.bands, workers, [&](int64_t task, int64_t worker) {
    uint32_t* const window = memory.data + worker * per_worker;
    float* const sums = reinterpret_cast<float*>(window + s.window_size() + s.lines_size());
    if (!__atomic_load_n(&special, __ATOMIC_RELAXED))
      sum_task(s, task, weights.data, offsets.data, window, sums, special);
  });
  return !special;
}

// Whether tiles, which multiply 32 channels whether there are so many or not, are faster.
bool pays(int64_t channels, int64_t rows, int64_t taps) {
  return channels >= 8 && rows >= 8 && taps <= kMostTileTaps;
}

bool sum_by_tiles(const ConvSum& g) {
  for (int64_t i = 0; i < g.part_count; ++i)
    if (!pays(g.channels, g.rows, g.parts[i].tap_count)) return false;
  const int workers = workers_for(g);
  for (int64_t i = 0; i < g.part_count; ++i)
    if (!sum_part(g, g.parts[i], workers)) return false;
  return true;
}

// ---- w ------------------------------------------------------------------------------------------

struct TileWeight {
  const ConvArgs& g;
  const Planes& planes;
  int64_t line, steps;        // line: halves of a plane of x and what is read behind it
  int64_t y_blocks, y_block;  // of 32 channels; entries
  BFloat16* x;                // (phase, image, channel, line)
  uint32_t* y;                // (image, block, step, 16 pairs of pixels, 32 channels)

  const BFloat16* line_of(int64_t phase, int64_t image, int64_t channel) const {
    return x + ((phase * g.batch + image) * g.x_channels + channel) * line;
  }
  const uint32_t* block_of(int64_t image, int64_t block) const {
    return y + (image * y_blocks + block) * y_block;
  }
};

// Row `index` of the planes of x.
bool pack_line(const TileWeight& s, int64_t index) {
  const ConvArgs& g = s.g;
  const int64_t c = index % g.x_channels, rest = index / g.x_channels, n = rest % g.batch;
  const auto* const from =
      static_cast<const BFloat16*>(g.x) + n * g.x_strides[0] + c * g.x_strides[1];
  const int64_t unmoved[3] = {0, 0, 0}, plane = s.planes.plane();
  BFloat16* const to = s.x + index * s.line;
  copy_plane(to, from, g.x_strides + 2, s.planes, s.planes.phases[rest / g.batch], unmoved);
  clear(to + plane, s.line - plane);
  return has_special(to, plane);
}

// A block of y, with zeros between rows of pixels; lines (32, length).
bool pack_block(const TileWeight& s, int64_t index, BFloat16* lines) {
  constexpr int n = lanes<float>;
  const ConvArgs& g = s.g;
  const int64_t image = index / s.y_blocks, first = index % s.y_blocks * kSide;
  const int64_t length = s.steps * kStep, channels = smaller(kSide, g.y_channels - first);
  clear(lines, kSide * length);
  for (int64_t o = 0; o < channels; ++o) {
    const BFloat16* const from =
        static_cast<const BFloat16*>(g.y) + image * g.y_strides[0] + (first + o) * g.y_strides[1];
    for_pixels(s.planes, s.planes.size, 0, s.planes.reach(),
               [&](int64_t place, int64_t count, int64_t d, int64_t h, int64_t w) {
                 const BFloat16* const row =
                     from + d * g.y_strides[2] + h * g.y_strides[3] + w * g.y_strides[4];
                 BFloat16* const to = lines + o * length + place;
                 if (g.y_strides[4] == 1) {
                   std::memcpy(to, row, static_cast<size_t>(count) * sizeof *to);
                 } else {
                   for (int64_t i = 0; i < count; ++i) to[i] = element(row + i * g.y_strides[4]);
                 }
               });
  }
  uint32_t* const to = s.y + index * s.y_block;
  for (int64_t q = 0; q < length / 2; q += n) {
    for (int o = 0; o < kSide; o += n) {
      Entries block[n];
#pragma GCC unroll 16
      for (int j = 0; j < n; ++j) block[j] = Pair::along(lines + (o + j) * length + 2 * q);
      transpose<uint32_t>(block);
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r) store(to + (q + r) * kSide + o, block[r]);
    }
  }
  return has_special(lines, kSide * length);
}

// Taps [t, t_end) of blocks of 32 channels of x and y; sums (taps, 32, 32).
void sum_block(const TileWeight& s, int64_t c, int64_t block, int64_t t_begin, int64_t t_end,
               float* sums) {
  constexpr int64_t kSteps = 32;  // at a time: they stay in the L2 cache for all taps
  const ConvArgs& g = s.g;
  const int64_t rows = smaller(kSide, g.x_channels - c);
  const int64_t o = block * kSide, cols = smaller(kSide, g.y_channels - o);
  {
    Tiles tiles;
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t q = 0; q < s.steps; q += kSteps) {
        const uint32_t* const of_y = s.block_of(n, block) + q * kTile * kSide;
        const TileLines b{[=](int64_t step) { return of_y + step * kTile * kSide; }, 4 * kSide,
                          4 * kTile};
        for (int64_t t = t_begin; t < t_end; ++t) {
          const BFloat16* const of_x =
              s.line_of(s.planes.phase[t], n, c) + q * kStep + s.planes.offset[t];
          const TileLines a{[=](int64_t step) { return of_x + step * kStep; }, 2 * s.line,
                            2 * s.line * kTile};
          multiply_tiles(tiles, a, b, smaller(kSteps, s.steps - q), rows, cols,
                         sums + (t - t_begin) * kSide * kSide, kSide, n + q > 0);
        }
      }
    }
  }
  for (int64_t t = t_begin; t < t_end; ++t, sums += kSide * kSide) {
    const int64_t w = t % g.taps[2], h = t / g.taps[2] % g.taps[1], d = t / g.taps[2] / g.taps[1];
    BFloat16* const to = static_cast<BFloat16*>(g.w) + c * g.w_strides[1] + o * g.w_strides[0] +
                         d * g.w_strides[2] + h * g.w_strides[3] + w * g.w_strides[4];
    for (int64_t j = 0; j < cols; ++j)
      for (int64_t i = 0; i < rows; ++i)
        to[j * g.w_strides[0] + i * g.w_strides[1]] = BFloat16(sums[i * kSide + j]);
  }
}

// The taps of the gradient of w, in its order, as those of a part of y.
void find_taps(const ConvArgs& g, ConvTap* taps, ConvPart& part) {
  part.taps = taps;
  part.tap_count = g.taps[0] * g.taps[1] * g.taps[2];
  for (int d = 0; d < 3; ++d) {
    part.size[d] = g.y_size[d];
    part.lowest_shift[d] = -g.padding[d];
    part.highest_shift[d] = (g.taps[d] - 1) * g.dilation[d] - g.padding[d];
  }
  for (int64_t t = 0; t < part.tap_count; ++t) {
    const int64_t at[] = {t / g.taps[2] / g.taps[1], t / g.taps[2] % g.taps[1], t % g.taps[2]};
    for (int d = 0; d < 3; ++d) taps[t].shift[d] = at[d] * g.dilation[d] - g.padding[d];
  }
}

bool weight_by_tiles(const ConvArgs& g) {
  const int64_t count = g.taps[0] * g.taps[1] * g.taps[2];
  if (!pays(g.x_channels, g.y_channels, count)) return false;
  ConvTap taps[kMostTileTaps];
  ConvPart part{};
  find_taps(g, taps, part);
  const Planes planes(part, g.stride, g.x_size, 0, g.y_size[0]);
  const double work = double(g.batch * planes.reach() * count * g.x_channels * g.y_channels);
  const int workers = work > kParallelWork ? num_threads() : 1;
  TileWeight s{g, planes, 0, 0, 0, 0, nullptr, nullptr};
  s.steps = blocks(planes.reach(), kStep);
  s.line = (blocks(planes.plane() + kStep, kStep) | 1) * kStep;
  const int64_t x_rows = planes.phase_count * g.batch * g.x_channels;  // planes of x
  s.y_blocks = blocks(g.y_channels, kSide);
  s.y_block = s.steps * kTile * kSide;
  const int64_t x_size = (x_rows + kSide) * s.line;
  const Scratch<BFloat16> x(x_size), lines(workers * kSide * s.steps * kStep);
  const Scratch<uint32_t> y(g.batch * s.y_blocks * s.y_block);
  s.x = x.data, s.y = y.data;
  bool special = false;
  run_tasks(x_rows, workers, [&](int64_t index, int64_t) {
    if (pack_line(s, index)) set(special);
  });
  run_tasks(g.batch * s.y_blocks, workers, [&](int64_t index, int64_t worker) {
    if (pack_block(s, index, lines.data + worker * kSide * s.steps * kStep)) set(special);
  });
  if (special) return false;
  const int64_t x_blocks = blocks(g.x_channels, kSide), pairs = x_blocks * s.y_blocks;
  const int64_t parts = smaller(count, blocks(4 * workers, pairs)), most = blocks(count, parts);
  const Scratch<float> sums(workers * most * kSide * kSide);
  run_tasks(pairs * parts, workers, [&](int64_t task, int64_t worker) {
    const int64_t pair = task / parts, first = task % parts * most;
    if (first < count)
      sum_block(s, pair / s.y_blocks * kSide, pair % s.y_blocks, first,
                smaller(first + most, count), sums.data + worker * most * kSide * kSide);
  });
  return true;
}

}  // namespace

namespace TT_ISA {
extern const ConvTiles conv_tiles = {sum_by_tiles, weight_by_tiles};
}

}  // namespace tt::cpu
