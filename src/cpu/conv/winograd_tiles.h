// Tiles of images in Winograd's minimal filtering F(2x2, 3x3): which of them are a block, how they
// come into vectors of channels and back, and the transforms of both.
//
// https://arxiv.org/abs/1509.09308 (Lavin and Gray 2015). A tile of 4 x 4 pixels that overlap by
// two gives 2 x 2 of the result: y = A^T [(G g G^T) * (B^T d B)] A. The 16 elements of what is in
// brackets are 16 matrix products over channels, each a *plane*. L is lanes<float> throughout.
#pragma once
#include "core/tables/conv.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

constexpr int64_t kPlanes = 16;

// Elements, as an odd number of cache lines: what lies a power of two apart shares sets of the
// cache.
inline int64_t odd_lines(int64_t size) { return (blocks(size, 16) | 1) * 16; }

// ---- Blocks of tiles.

struct TileGrid {
  int64_t images, rows, columns;
};

// A rectangle of tiles, in each of some images.
struct TileBlock {
  int64_t image, images, row, rows, column, columns;
  int64_t tiles() const { return images * rows * columns; }
};

struct TileCut {
  TileGrid grid, block;
  int64_t tiles() const { return block.images * block.rows * block.columns; }
  int64_t size() const {
    return blocks(grid.images, block.images) * blocks(grid.rows, block.rows) *
           blocks(grid.columns, block.columns);
  }
  TileBlock at(int64_t index) const {
    const int64_t across = blocks(grid.columns, block.columns);
    const int64_t down = blocks(grid.rows, block.rows);
    const int64_t column = index % across * block.columns;
    const int64_t row = index / across % down * block.rows;
    const int64_t image = index / across / down * block.images;
    return {image,  smaller(block.images, grid.images - image),
            row,    smaller(block.rows, grid.rows - row),
            column, smaller(block.columns, grid.columns - column)};
  }
};

// The largest of equal parts of `size` that are `most` at most.
inline int64_t equal_part(int64_t size, int64_t most) {
  return blocks(size, blocks(size, larger(1, smaller(most, size))));
}

inline TileCut cut_tiles(const TileGrid& grid, int64_t most) {
  const int64_t columns = equal_part(grid.columns, smaller(most, 16));
  const int64_t rows = equal_part(grid.rows, most / columns);
  const bool whole = columns == grid.columns && rows == grid.rows;
  return {grid, {whole ? equal_part(grid.images, most / (rows * columns)) : 1, rows, columns}};
}

// ---- Pixels as vectors of channels.

struct Images {
  float* data;
  int64_t image, channel, row, column;  // strides
  int64_t channels, height, width;
  int64_t extent;  // elements from the first to behind the last
};

// Pixels of an image, some of which may lie outside of it.
struct Pixels2d {
  int64_t y, x, height, width;
  int64_t size() const { return height * width * lanes<float>; }  // as vectors
};

// Those inside: `rows` runs of `columns` pixels from `at` on, or a single run if they follow one
// another in memory; `first` of all vectors.
struct InnerPixels {
  int64_t at, rows, columns, first;
  bool flat;
  InnerPixels(const Images& s, const Pixels2d& p) {
    const int64_t y = larger(p.y, 0), x = larger(p.x, 0);
    rows = larger(0, smaller(p.y + p.height, s.height) - y);
    columns = larger(0, smaller(p.x + p.width, s.width) - x);
    at = y * s.row + x * s.column;
    first = ((y - p.y) * p.width + x - p.x) * lanes<float>;
    flat = columns > 0 && s.row == columns * s.column;
  }
};

// f(offset, vector) of each pixel inside.
template <class F>
void for_each_pixel(const Images& s, const Pixels2d& p, const InnerPixels& in, const F& f) {
  for (int64_t i = 0; i < in.rows; ++i)
    for (int64_t j = 0; j < in.columns; ++j)
      f(in.at + i * s.row + j * s.column, in.first + (i * p.width + j) * lanes<float>);
}

// f(offset, count) of up to L neighbours at a time.
template <class F>
void for_each_run(const Images& s, const InnerPixels& in, const F& f) {
  const int64_t length = in.flat ? in.rows * in.columns : in.columns;
  for (int64_t i = 0; i < (in.flat ? 1 : in.rows); ++i)
    for (int64_t j = 0; j < length; j += lanes<float>)
      f(in.at + i * s.row + j, smaller(lanes<float>, length - j));
}

// The vectors of the pixels inside, one after the other.
template <class T>
struct InnerVectors {
  T* at;
  int64_t columns, gap, column = 0;
  InnerVectors(T* vectors, const Pixels2d& p, const InnerPixels& in)
      : at(vectors + in.first), columns(in.columns), gap((p.width - in.columns) * lanes<float>) {}
  T* next() {
    T* const now = at;
    at += lanes<float>;
    if (++column == columns) {
      column = 0;
      at += gap;
    }
    return now;
  }
};

// The vectors of L channels from c on; pixels that lie outside are not written.
inline void read_pixels(const Images& s, const Pixels2d& p, int64_t n, int64_t c, float* vectors) {
  constexpr int64_t L = lanes<float>;
  const InnerPixels in(s, p);
  const int64_t count = smaller(L, s.channels - c), start = n * s.image + c * s.channel;
  const float* const from = s.data + start;
  if (s.channel == 1) {
    return for_each_pixel(s, p, in, [=](int64_t at, int64_t to) {
      store(vectors + to, count == L ? load(from + at) : load_partial(from + at, count));
    });
  }
  if (s.column != 1) {
    return for_each_pixel(s, p, in, [=](int64_t at, int64_t to) {
      Vec<float> v{};
      for (int64_t k = 0; k < count; ++k) v[k] = element(from + at + k * s.channel);
      store(vectors + to, v);
    });
  }
  InnerVectors<float> inner(vectors, p, in);
  const int64_t end = s.extent - (count - 1) * s.channel;
  for_each_run(s, in, [&](int64_t at, int64_t here) {
    Vec<float> block[L];
    if (start + at + L <= end) {
#pragma GCC unroll 16
      for (int k = 0; k < L; ++k) block[k] = load(from + at + smaller(k, count - 1) * s.channel);
    } else {
      for (int k = 0; k < L; ++k)
        block[k] = load_partial(from + at + smaller(k, count - 1) * s.channel, here);
    }
    transpose<float>(block);
#pragma GCC unroll 16
    for (int k = 0; k < L; ++k) {
      if (k < here) store(inner.next(), block[k]);
    }
  });
}

// The other way.
inline void write_pixels(const Images& s, const Pixels2d& p, int64_t n, int64_t c,
                         const float* vectors) {
  constexpr int64_t L = lanes<float>;
  const InnerPixels in(s, p);
  const int64_t count = smaller(L, s.channels - c);
  float* const to = s.data + n * s.image + c * s.channel;
  if (s.channel == 1) {
    return for_each_pixel(s, p, in, [=](int64_t at, int64_t from) {
      const Vec<float> v = load(vectors + from);
      count == L ? store(to + at, v) : store_partial(to + at, v, count);
    });
  }
  if (s.column != 1) {
    return for_each_pixel(s, p, in, [=](int64_t at, int64_t from) {
      for (int64_t k = 0; k < count; ++k) to[at + k * s.channel] = vectors[from + k];
    });
  }
  InnerVectors<const float> inner(vectors, p, in);
  for_each_run(s, in, [&](int64_t at, int64_t here) {
    Vec<float> block[L] = {};
#pragma GCC unroll 16
    for (int k = 0; k < L; ++k) {
      if (k < here) block[k] = load(inner.next());
    }
    transpose<float>(block);
    float* row = to + at;
#pragma GCC unroll 16
    for (int k = 0; k < L; ++k, row += s.channel) {
      if (k >= count) break;
      here == L ? store(row, block[k]) : store_partial(row, block[k], here);
    }
  });
}

// ---- Transforms. Vectors of a plane lie `plane` elements from those of the one before.

using Lane4 = Vec<float>[4];

// The four rows of B^T times a column of a tile, `row` elements from one to the next.
inline void transform_column(const float* d, int64_t row, Lane4& t) {
  const Vec<float> d0 = load(d), d1 = load(d + row), d2 = load(d + 2 * row), d3 = load(d + 3 * row);
  t[0] = d0 - d2;
  t[1] = d1 + d2;
  t[2] = d2 - d1;
  t[3] = d1 - d3;
}

// B^T d B of rows x columns tiles; `width` pixels lie in a row of vectors.
inline void transform_source(const float* vectors, int64_t width, int64_t rows, int64_t columns,
                             float* to, int64_t tile, int64_t plane) {
  constexpr int64_t L = lanes<float>;
  for (int64_t i = 0; i < rows; ++i) {
    const float* d = vectors + 2 * i * width * L;
    Lane4 t0, t1, t2, t3;
    transform_column(d, width * L, t0);
    transform_column(d + L, width * L, t1);
    for (int64_t j = 0; j < columns; ++j, to += tile) {
      d += 2 * L;
      transform_column(d, width * L, t2);
      transform_column(d + L, width * L, t3);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        store(to + (4 * r + 0) * plane, t0[r] - t2[r]);
        store(to + (4 * r + 1) * plane, t1[r] + t2[r]);
        store(to + (4 * r + 2) * plane, t2[r] - t1[r]);
        store(to + (4 * r + 3) * plane, t1[r] - t3[r]);
        t0[r] = t2[r];
        t1[r] = t3[r];
      }
    }
  }
}

// Writes sums (Rows, Vectors of kCols), or adds them to what is there.
template <int Rows, int Vectors>
void store_sums(const Vec<float> (&sum)[Rows][Vectors], bool add, float* sums) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int i = 0; i < Vectors; ++i) {
      float* to = sums + r * kCols<float> + i * lanes<float>;
      store(to, add ? load(to) + sum[r][i] : sum[r][i]);
    }
  }
}

// All tiles of a block, all channels: to[plane][tile][channel].
inline void transform_block(const Images& source, const TileBlock& at, int64_t y, int64_t x,
                            float* vectors, float* to, int64_t tile, int64_t plane) {
  const Pixels2d pixels = {2 * at.row + y, 2 * at.column + x, 2 * at.rows + 2, 2 * at.columns + 2};
  for (int64_t i = 0; i < pixels.size(); i += lanes<float>) store(vectors + i, Vec<float>{});
  for (int64_t c = 0; c < source.channels; c += lanes<float>) {
    for (int64_t n = 0; n < at.images; ++n) {
      read_pixels(source, pixels, at.image + n, c, vectors);
      transform_source(vectors, pixels.width, at.rows, at.columns,
                       to + n * at.rows * at.columns * tile + c, tile, plane);
    }
  }
}

}  // namespace
}  // namespace tt::cpu
