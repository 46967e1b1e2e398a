// How a block reads the factors A and B of a product. Both are lines that meet along their depth:
// rows of A, columns of B. A factor of elements T answers
//
//   Line line(index)        what a thread keeps of a line (of one behind the last, too)
//   T element(line, k)      0 behind the end of the depth, or of the lines
//   Chunk<T> chunk(line, k) where 16 bytes begin, only where `has_chunks`: elements k, k + 1, ...
//   of
//                           the line where `is_deep`, else element k of it and of the next lines
#pragma once
#include <type_traits>

#include "core/devices/host_device.h"
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

template <class T>
constexpr int kChunk = 16 / sizeof(T);

// 16 bytes of memory, and how many elements of them count: the others are 0.
template <class T>
struct Chunk {
  const T* data;
  int count;
};

template <class T>
TT_HOST_DEVICE T at_most(T x, std::common_type_t<T> limit) {
  return x < limit ? x : limit;
}

// A matrix in memory.
template <class T>
struct MatrixFactor {
  const T* data;
  int64_t lines, depth, line_stride, depth_stride;
  bool is_deep, has_chunks;

  __device__ MatrixFactor(const T* data, int64_t lines, int64_t depth, int64_t line_stride,
                          int64_t depth_stride)
      : data(data),
        lines(lines),
        depth(depth),
        line_stride(line_stride),
        depth_stride(depth_stride),
        is_deep(depth_stride <= line_stride),
        has_chunks((is_deep ? depth_stride : line_stride) == 1 &&
                   (is_deep ? line_stride : depth_stride) % kChunk<T> == 0 &&
                   reinterpret_cast<uintptr_t>(data) % 16 == 0) {}

  struct Line {
    const T* data;
    int count;  // of it and the lines behind it, a chunk at most
  };
  __device__ Line line(int64_t index) const {
    const int64_t left = at_most(lines - index, kChunk<T>);
    return {data + index * line_stride, left > 0 ? static_cast<int>(left) : 0};
  }
  __device__ T element(const Line& line, int64_t k) const {
    return line.count > 0 && k < depth ? line.data[k * depth_stride] : T(0.0f);
  }
  __device__ Chunk<T> chunk(const Line& line, int64_t k) const {
    if (line.count == 0 || k >= depth) return {data, 0};
    if (!is_deep) return {line.data + k * depth_stride, line.count};
    return {line.data + k, static_cast<int>(at_most(depth - k, kChunk<T>))};
  }
};

}  // namespace
}  // namespace tt::cuda
