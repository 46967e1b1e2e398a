// The factors (infra/factors.h) of the products that convolutions are: matrices that are stored
// nowhere, whose elements are found in x, w and y.
//
// Chunks are there where channels are last: neighbours in memory are channels of one pixel.
#pragma once
#include "core/tables/conv.h"
#include "cuda/infra/divisor.h"
#include "cuda/infra/factors.h"

namespace tt::cuda {
namespace {

template <class T>
TT_HOST_DEVICE bool is_chunk_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % (kChunk<T> * sizeof(T)) == 0;
}

// ---- y or x: (rows, pixels) = weights (rows, taps * channels) @ (taps * channels, pixels) -------

// A part of a ConvSum by value.
struct PartSum {
  ConvSum sum;
  ConvPart part;
  int depth, pixels;
  Divisor channels, size[3];
  bool weight_chunks, source_chunks;  // whether there may be chunks, as far as strides tell
  int run;                            // pixels of the result that lie side by side, 1, 2 or 4

  __device__ void find_tap(int64_t k, const ConvTap*& tap, int64_t& channel) const {
    int index = static_cast<int>(k);
    channel = channels.next_dim(index);
    tap = part.taps + index;
  }
};

template <class T>
struct WeightFactor {
  const PartSum& g;
  const T* data;
  bool is_deep, has_chunks;

  __device__ WeightFactor(const PartSum& g, int64_t group)
      : g(g),
        data(static_cast<const T*>(g.sum.weight) + group * g.sum.weight_group),
        is_deep(g.sum.weight_channel <= g.sum.weight_row),
        has_chunks(g.weight_chunks && is_chunk_aligned<T>(data)) {}

  struct Line {
    const T* data;
    int count;  // of the row and those behind it, a chunk at most
  };
  __device__ Line line(int64_t row) const {
    const int64_t left = at_most(g.sum.rows - row, kChunk<T>);
    return {data + row * g.sum.weight_row, left > 0 ? static_cast<int>(left) : 0};
  }
  __device__ const T* at(const Line& line, int64_t k) const {
    const ConvTap* tap;
    int64_t channel;
    g.find_tap(k, tap, channel);
    return line.data + tap->weight + channel * g.sum.weight_channel;
  }
  __device__ T element(const Line& line, int64_t k) const {
    return line.count > 0 && k < g.depth ? *at(line, k) : T(0.0f);
  }
  __device__ Chunk<T> chunk(const Line& line, int64_t k) const {
    if (line.count == 0 || k >= g.depth) return {data, 0};
    return {at(line, k), is_deep ? kChunk<T> : line.count};
  }
};

// What pixels of the result see in the source.
template <class T>
struct PixelFactor {
  const PartSum& g;
  const T* data;
  bool is_deep, has_chunks;

  __device__ PixelFactor(const PartSum& g, int64_t group)
      : g(g),
        data(static_cast<const T*>(g.sum.source) +
             group * g.sum.channels * g.sum.source_strides[1]),
        is_deep(g.sum.source_strides[1] == 1),
        has_chunks(g.source_chunks && is_chunk_aligned<T>(data)) {}

  struct Line {
    const T* data;  // of its image
    int64_t at[3];  // where it looks without a shift
    bool is_there;
  };
  __device__ Line line(int64_t pixel) const {
    Line line{data, {}, pixel < g.pixels};
    int n = line.is_there ? static_cast<int>(pixel) : 0;
    for (int d = 2; d >= 0; --d) line.at[d] = g.size[d].next_dim(n) * g.sum.step[d];
    line.data += n * g.sum.source_strides[0];
    return line;
  }
  // Null where it sees nothing.
  __device__ const T* at(const Line& line, int64_t k) const {
    if (!line.is_there || k >= g.depth) return nullptr;
    const ConvTap* tap;
    int64_t channel;
    g.find_tap(k, tap, channel);
    const T* from = line.data + channel * g.sum.source_strides[1];
    for (int d = 0; d < 3; ++d) {
      const int64_t i = line.at[d] + tap->shift[d];
      if (i < 0 || i >= g.sum.source_size[d]) return nullptr;
      from += i * g.sum.source_strides[d + 2];
    }
    return from;
  }
  __device__ T element(const Line& line, int64_t k) const {
    const T* const from = at(line, k);
    return from ? *from : T(0.0f);
  }
  __device__ Chunk<T> chunk(const Line& line, int64_t k) const {
    const T* const from = at(line, k);
    return from ? Chunk<T>{from, kChunk<T>} : Chunk<T>{data, 0};
  }
};

// ---- w: (y_channels, taps * x_channels) = y (y_channels, pixels) @ (pixels, taps * x_channels) --

// ConvArgs with what the factors need.
struct WeightSum {
  ConvArgs args;
  int pixels, columns;
  Divisor size[3];  // of y
  Divisor x_channels, taps[3];
  bool x_chunks, y_chunks;

  // Takes a pixel of y apart: offset is n's and `at` the others.
  __device__ int find_pixel(int64_t index, int (&at)[3]) const {
    int n = static_cast<int>(index);
    for (int d = 2; d >= 0; --d) at[d] = size[d].next_dim(n);
    return n;
  }
};

// The gradient of y.
template <class T>
struct GradFactor {
  const WeightSum& g;
  const T* data;
  bool is_deep, has_chunks;

  __device__ GradFactor(const WeightSum& g, int64_t group)
      : g(g),
        data(static_cast<const T*>(g.args.y) + group * g.args.y_channels * g.args.y_strides[1]),
        is_deep(g.args.y_strides[1] != 1),
        has_chunks(g.y_chunks && is_chunk_aligned<T>(data)) {}

  struct Line {
    const T* data;
    int count;
  };
  __device__ Line line(int64_t channel) const {
    const int64_t left = at_most(g.args.y_channels - channel, kChunk<T>);
    return {data + channel * g.args.y_strides[1], left > 0 ? static_cast<int>(left) : 0};
  }
  __device__ const T* at(const Line& line, int64_t pixel) const {
    int at[3];
    const T* from = line.data + g.find_pixel(pixel, at) * g.args.y_strides[0];
    for (int d = 0; d < 3; ++d) from += at[d] * g.args.y_strides[d + 2];
    return from;
  }
  __device__ T element(const Line& line, int64_t pixel) const {
    return line.count > 0 && pixel < g.pixels ? *at(line, pixel) : T(0.0f);
  }
  __device__ Chunk<T> chunk(const Line& line, int64_t pixel) const {
    if (line.count == 0 || pixel >= g.pixels) return {data, 0};
    return {at(line, pixel), is_deep ? kChunk<T> : line.count};
  }
};

// x as taps and channels see it from the pixels of y.
template <class T>
struct SeenFactor {
  const WeightSum& g;
  const T* data;
  bool is_deep, has_chunks;

  __device__ SeenFactor(const WeightSum& g, int64_t group)
      : g(g),
        data(static_cast<const T*>(g.args.x) + group * g.args.x_channels * g.args.x_strides[1]),
        is_deep(g.args.x_strides[1] != 1),
        has_chunks(g.x_chunks && is_chunk_aligned<T>(data)) {}

  struct Line {
    const T* data;
    int64_t shift[3];
    bool is_there;
  };
  __device__ Line line(int64_t column) const {
    Line line{data, {}, column < g.columns};
    int index = line.is_there ? static_cast<int>(column) : 0;
    line.data += g.x_channels.next_dim(index) * g.args.x_strides[1];
    for (int d = 2; d >= 0; --d)
      line.shift[d] = g.taps[d].next_dim(index) * g.args.dilation[d] - g.args.padding[d];
    return line;
  }
  __device__ const T* at(const Line& line, int64_t pixel) const {
    if (!line.is_there || pixel >= g.pixels) return nullptr;
    int at[3];
    const T* from = line.data + g.find_pixel(pixel, at) * g.args.x_strides[0];
    for (int d = 0; d < 3; ++d) {
      const int64_t i = at[d] * g.args.stride[d] + line.shift[d];
      if (i < 0 || i >= g.args.x_size[d]) return nullptr;
      from += i * g.args.x_strides[d + 2];
    }
    return from;
  }
  __device__ T element(const Line& line, int64_t pixel) const {
    const T* const from = at(line, pixel);
    return from ? *from : T(0.0f);
  }
  __device__ Chunk<T> chunk(const Line& line, int64_t pixel) const {
    const T* const from = at(line, pixel);
    return from ? Chunk<T>{from, kChunk<T>} : Chunk<T>{data, 0};
  }
};

}  // namespace
}  // namespace tt::cuda
