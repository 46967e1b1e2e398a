// Lines that stand side by side, transposed into rows of scratch memory. A line's elements lie far
// apart, and each is in a cache line with those of its neighbours: so many lines at a time go there
// and back in tiles.
#pragma once
#include <algorithm>
#include <cstring>

#include "core/lines.h"
#include "cpu/infra/walk.h"

namespace tt::cpu {

inline bool is_turned(const LineStream& stream) {
  const int64_t item = itemsize(stream.dtype);
  return stream.step != item && !stream.strides.empty() && stream.strides.back() == item;
}

// From one row to the next: an odd number of cache lines, so that the same element of many rows
// does not always fall on the same place of a cache.
inline int64_t bytes_of_row(int64_t size, int64_t item) {
  return ((size * item + 63) / 64 | 1) * 64;
}

constexpr int64_t kMostRows = 64;  // at once

// How many rows to take at once: at least a cache line's worth of elements, and as many as the
// second cache holds; but of few lines no more than each thread has, so that scratch memory is at
// most what a copy would be.
inline int64_t rows_at_once(int64_t row_bytes, int64_t lines, int64_t threads) {
  constexpr int64_t kBytes = 1 << 20, kLeast = 16;
  return std::min(std::clamp(kBytes / row_bytes, kLeast, kMostRows),
                  (lines + threads - 1) / threads);
}

inline void gather_rows(const LineStream& stream, const char* lines, int64_t size, int64_t count,
                        char* rows, int64_t row_bytes) {
  transpose(lines, stream.step, rows, row_bytes, size, count, itemsize(stream.dtype));
}
// By way of tiles, so that what is written at an element is one run.
inline void scatter_rows(const LineStream& stream, const char* rows, int64_t row_bytes,
                         int64_t size, int64_t count, char* lines) {
  constexpr int64_t kTile = 16384;
  alignas(64) char tile[kTile];
  const int64_t item = itemsize(stream.dtype), run = count * item, most = kTile / run;
  for (int64_t first = 0; first < size; first += most) {
    const int64_t n = std::min(most, size - first);
    transpose(rows + first * item, row_bytes, tile, run, count, n, item);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(lines + (first + i) * stream.step, tile + i * run, run);
  }
}

}  // namespace tt::cpu
