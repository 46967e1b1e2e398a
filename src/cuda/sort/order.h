// Elements as keys, and the sorting of those: what the kernels that sort, search and find elements
// that occur again share.
//
// An item is a key (core/formulas/keys.h) and the element's position: no two items are equal, so
// every way to sort them gives what a stable sort would.
//
// Merge sort by ranks: of two neighbouring runs that are sorted, an item's place in the merged run
// is its place in its own plus the number of items of the other that are smaller, which a binary
// search tells. So each pass has a thread per item, and none waits for another.
#pragma once
#include "core/formulas/keys.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {
namespace {

template <class Key>
__device__ Key load_key(const char* from, DType dtype) {
  switch (dtype) {
#define X(name, type, text, category)                                                              \
  case DType::name:                                                                                \
    if constexpr ((sizeof(type) == 8) == (sizeof(Key) == 8)) return key_of<Key>(read<type>(from)); \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
  return Key{};
}

template <class Key>
struct Item {
  Key key;
  Key position;  // in the line, below 2^32; as wide as the key, so that there is no padding

  __device__ bool operator<(const Item& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

// How many of the n first elements, which are sorted, are less.
template <class Less>
__device__ int64_t count_less(int64_t n, Less less) {
  int64_t low = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    if (less(low + half)) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

// Where item i of n, of runs of `width` that are sorted, goes in runs of twice that.
template <class T, class Less>
__device__ int64_t merged_place(const T* items, int64_t n, int64_t width, int64_t i, Less less) {
  const int64_t run = i / width, other = (run ^ 1) * width;  // where the run to merge with starts
  const int64_t left = n - other, size = left < 0 ? 0 : left < width ? left : width;
  const T item = items[i];
  const int64_t smaller = count_less(size, [&](int64_t k) { return less(items[other + k], item); });
  return run / 2 * 2 * width + (i - run * width) + smaller;
}

struct LessItem {
  template <class Key>
  __device__ bool operator()(const Item<Key>& a, const Item<Key>& b) const {
    return a < b;
  }
};

// Items of kThreads neighbours of a line, or of a shorter line, per block: sorted in shared memory.
template <class Key>
__global__ void sort_tiles(const DeviceLines lines, const bool descending, Item<Key>* items) {
  __shared__ Item<Key> memory[2][kThreads];
  const int64_t tiles = (lines.size + kThreads - 1) / kThreads;
  const int64_t line = blockIdx.x / tiles, first = blockIdx.x % tiles * kThreads;
  const int64_t left = lines.size - first, n = left < kThreads ? left : kThreads;
  const int i = threadIdx.x;
  const DeviceLines::Stream& x = lines.stream[0];
  int at = 0;  // in which half they are
  if (i < n) {
    const char* const from = x.data + lines.positions.offset(0, line) + (first + i) * x.step;
    const Key key = load_key<Key>(from, x.dtype);
    memory[at][i] = {descending ? static_cast<Key>(~key) : key, static_cast<Key>(first + i)};
  }
  for (int width = 1; width < n; width *= 2, at = 1 - at) {
    __syncthreads();
    if (i < n) memory[1 - at][merged_place(memory[at], n, width, i, LessItem())] = memory[at][i];
  }
  __syncthreads();
  if (i < n) items[line * lines.size + first + i] = memory[at][i];
}

// One pass over `total` items: lines of `size`.
template <class T, class Less>
__global__ void merge_runs(const T* from, T* to, const int64_t total, const int64_t size,
                           const int64_t width, const Less less) {
  const int64_t index = thread_index();
  if (index >= total) return;
  const int64_t i = index % size, start = index - i;
  to[start + merged_place(from + start, size, width, i, less)] = from[index];
}

// Merges runs of `width` on, between `items` and `other`; answers where they are sorted.
template <class T, class Less>
T* merge_all(T* items, T* other, int64_t total, int64_t size, int64_t width, const Less& less) {
  for (; width < size; width *= 2) {
    launch<merge_runs<T, Less>>(grid_of(total), items, other, total, size, width, less);
    std::swap(items, other);
  }
  return items;
}

// The items of the first stream's lines, each line's in ascending or descending order.
template <class Key>
class Sorted {
 public:
  Sorted(const DeviceLines& lines, bool descending)
      : memory_(lines.count * lines.size),
        other_(lines.size > kThreads ? lines.count * lines.size : 0) {
    const int64_t tiles = (lines.size + kThreads - 1) / kThreads;
    const int64_t threads = lines.size < kThreads ? (lines.size + 31) / 32 * 32 : kThreads;
    launch<sort_tiles<Key>>({lines.count * tiles, static_cast<unsigned>(threads)}, lines,
                            descending, memory_.data());
    items_ = merge_all(memory_.data(), other_.data(), lines.count * lines.size, lines.size,
                       kThreads, LessItem());
  }
  const Item<Key>* items() const { return items_; }

 private:
  const Scratch<Item<Key>> memory_, other_;
  const Item<Key>* items_;
};

// `count` lines of n elements each, side by side.
inline DeviceLines lines_of(const void* x, DType dtype, int64_t count, int64_t n) {
  const int64_t item = itemsize(dtype);
  DeviceLines lines{};
  lines.count = count;
  lines.size = n;
  lines.positions.ndim = 1;
  lines.positions.shape[0] = count;
  lines.positions.strides[0][0] = n * item;
  lines.stream[0] = {const_cast<char*>(static_cast<const char*>(x)), dtype, item};
  return lines;
}

}  // namespace
}  // namespace tt::cuda
