#include "cpu/infra/walk.h"

#include <cstring>

#include "core/dtypes/with_type.h"

namespace tt::cpu {

namespace {

constexpr int64_t kFewest = 256;  // elements that are worth a tile
constexpr int64_t kEdge = 32;     // elements across that are read in one run

template <class T>
struct Block {
  static constexpr int kSize = 16 / sizeof(T);
  typedef T Vector __attribute__((vector_size(16)));

  // Interleaving the halves of an array moves element i to the place that the bits of i, turned by
  // one, say. Turned by as many bits as a column has, (row, column) comes to (column, row).
  static void transpose(const char* from, int64_t from_stride, char* to, int64_t to_stride) {
    Vector a[kSize], b[kSize], low, high;
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i) {
      low[i] = static_cast<T>(i / 2 + i % 2 * kSize);
      high[i] = static_cast<T>(low[i] + kSize / 2);
      std::memcpy(&a[i], from + i * from_stride, sizeof a[i]);
    }
#pragma GCC unroll 16
    for (int turned = 1; turned < kSize; turned *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < kSize / 2; ++i) {
        b[2 * i] = __builtin_shuffle(a[i], a[i + kSize / 2], low);
        b[2 * i + 1] = __builtin_shuffle(a[i], a[i + kSize / 2], high);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kSize; ++i) a[i] = b[i];  // memcpy would go through memory
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i) std::memcpy(to + i * to_stride, &a[i], sizeof a[i]);
  }
};

template <class T, int kRows>
void interleave(const char* from, int64_t from_stride, char* to, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int r = 0; r < kRows; ++r)
      write<T>(to + (c * kRows + r) * sizeof(T), read<T>(from + r * from_stride + c * sizeof(T)));
}

template <class T>
void transpose_of(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows,
                  int64_t columns) {
  constexpr int64_t kItem = sizeof(T), kSize = Block<T>::kSize;
  if (rows == 2 && to_stride == 2 * kItem) return interleave<T, 2>(from, from_stride, to, columns);
  if (rows == 3 && to_stride == 3 * kItem) return interleave<T, 3>(from, from_stride, to, columns);
  const int64_t whole = columns / kSize * kSize;
  int64_t r = 0;
  for (; r + kSize <= rows; r += kSize) {
    const char* const x = from + r * from_stride;
    for (int64_t k = 0; k < kSize; ++k)  // what the next tile reads
      for (int64_t at = 0; at < columns * kItem; at += 64)
        __builtin_prefetch(x + k * from_stride + columns * kItem + at);
    char* const y = to + r * kItem;
    for (int64_t c = 0; c < whole; c += kSize)
      Block<T>::transpose(x + c * kItem, from_stride, y + c * to_stride, to_stride);
    for (int64_t c = whole; c < columns; ++c)
      for (int64_t k = 0; k < kSize; ++k)
        write<T>(y + c * to_stride + k * kItem, read<T>(x + k * from_stride + c * kItem));
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      write<T>(to + c * to_stride + r * kItem, read<T>(from + r * from_stride + c * kItem));
}

}  // namespace

void transpose(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows,
               int64_t columns, int64_t item) {
  with_size(item, [&](auto type) {
    transpose_of<decltype(type)>(from, from_stride, to, to_stride, rows, columns);
  });
}

Tiles::Tiles(const Iter& iter) : iter_(iter) {
  if (iter.ndim < 2 || iter.numel < kFewest) return;
  const auto item = [&](int k) { return int64_t(itemsize(iter.operands[k].dtype)); };
  for (int k = 1; k < iter.count && !across_; ++k) {
    const auto& strides = iter.operands[k].strides;
    if (strides[0] == item(k) || strides[0] == 0) continue;
    for (int d = 1; d < iter.ndim; ++d)
      if (strides[d] == item(k) && iter.shape[d] >= 4) across_ = d;
  }
  if (!across_) return;
  const int64_t rows = iter.shape[0], columns = iter.shape[across_];
  int64_t largest = 1;
  for (int k = 1; k < iter.count; ++k) {
    const auto& strides = iter.operands[k].strides;
    turned_[k] = strides[0] != item(k) && strides[0] != 0 && strides[across_] == item(k);
    if (turned_[k]) largest = std::max(largest, item(k));
  }
  size_[0] = std::min(rows, kBytes / largest / std::min(columns, kEdge));
  size_[1] = std::min(columns, kBytes / largest / size_[0]);
  tiles_[0] = (rows + size_[0] - 1) / size_[0];
  tiles_[1] = (columns + size_[1] - 1) / size_[1];
  count_ = iter.numel / (rows * columns) * tiles_[0] * tiles_[1];
  for (int k = 0; k < iter.count; ++k) {
    const bool turned = k > 0 && turned_[k];
    strides_[k] = turned ? item(k) : iter.operands[k].strides[0];
    steps_[k] = turned ? item(k) * size_[0] : iter.operands[k].strides[across_];
    joined_ &= size_[0] == rows && steps_[k] == rows * strides_[k];
  }
}

void Tiles::seek(int64_t tile, char** data, int64_t* n, int64_t* lines) const {
  const auto next = [&tile](int64_t size) {
    const int64_t at = tile % size;
    tile /= size;
    return at;
  };
  const int64_t j = next(tiles_[1]) * size_[1], i = next(tiles_[0]) * size_[0];
  *n = std::min(size_[0], iter_.shape[0] - i);
  *lines = std::min(size_[1], iter_.shape[across_] - j);
  for (int k = 0; k < iter_.count; ++k) {
    const auto& strides = iter_.operands[k].strides;
    data[k] = iter_.operands[k].data + i * strides[0] + j * strides[across_];
  }
  for (int d = 1; d < iter_.ndim; ++d) {
    if (d == across_) continue;
    const int64_t at = next(iter_.shape[d]);
    for (int k = 0; k < iter_.count; ++k) data[k] += at * iter_.operands[k].strides[d];
  }
}

}  // namespace tt::cpu
