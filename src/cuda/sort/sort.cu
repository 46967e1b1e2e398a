// Sorting of lines, and the selection of elements by their order: each sorts (order.h), and takes
// the elements that it is asked for.
#include "core/tables/sort.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

// Element `to` of a line's results is element `from` of x.
__device__ void put(const DeviceLines& lines, int64_t line, int64_t from, int64_t to) {
  const auto at = [&](int stream, int64_t k) {
    return lines.stream[stream].data + lines.positions.offset(stream, line) +
           k * lines.stream[stream].step;
  };
  copy_element(at(1, to), at(0, from), lines.stream[0].dtype);
  *reinterpret_cast<int64_t*>(at(2, to)) = from;
}

// The first k elements of each line in order: one per thread.
template <class Key>
__global__ void put_first(const DeviceLines lines, const Item<Key>* items, const int64_t k) {
  const int64_t index = thread_index();
  if (index >= lines.count * k) return;
  const int64_t line = index / k, i = index % k;
  put(lines, line, items[line * lines.size + i].position, i);
}

// The k-th of each line: a line per thread.
template <class Key>
__global__ void put_kth(const DeviceLines lines, const Item<Key>* items, const int64_t k) {
  const int64_t line = thread_index();
  if (line < lines.count) put(lines, line, items[line * lines.size + k].position, 0);
}

// The lower of two middle elements, or the first NaN: a line per thread.
template <class Key>
__global__ void put_median(const DeviceLines lines, const Item<Key>* all, const bool ignore_nan) {
  const int64_t line = thread_index();
  if (line >= lines.count) return;
  const Item<Key>* const items = all + line * lines.size;
  int64_t numbers = lines.size;  // NaN come last
  if (is_floating(lines.stream[0].dtype))
    numbers = count_less(lines.size, [=](int64_t i) { return items[i].key < kLargestKey<Key>; });
  const int64_t middle = numbers > 0 ? (numbers - 1) / 2 : 0;
  const bool nan = numbers < lines.size && !ignore_nan;
  put(lines, line, items[nan ? numbers : middle].position, 0);
}

// The last of the equal elements that are the most, the smallest such: a line per block.
template <class Key>
__global__ void put_mode(const DeviceLines lines, const Item<Key>* all) {
  const Item<Key>* const items = all + blockIdx.x * lines.size;
  const bool floating = is_floating(lines.stream[0].dtype);
  int64_t longest = 0, start = 0;
  for (int64_t i = threadIdx.x; i < lines.size; i += kThreads) {
    const Key key = items[i].key;
    if (i > 0 && items[i - 1].key == key) continue;        // not the first of its kind
    const bool nan = floating && key == kLargestKey<Key>;  // equals nothing
    const int64_t size =
        nan ? 1 : count_less(lines.size - i, [=](int64_t k) { return items[i + k].key <= key; });
    if (size > longest) {
      longest = size;
      start = i;
    }
  }
  const int64_t most = max_of_block(longest);
  start = of_block(longest == most ? start : lines.size,
                   [](int64_t a, int64_t b) { return a < b ? a : b; });
  if (threadIdx.x != 0) return;
  if (floating && most == 1) {  // a NaN that the line begins with goes before the smallest
    const auto number = [=](int64_t i) { return items[i].key < kLargestKey<Key>; };
    const int64_t nan = count_less(lines.size, number);
    if (nan < lines.size && items[nan].position == 0) start = nan;
  }
  put(lines, blockIdx.x, items[start + most - 1].position, 0);
}

// Calls put(Key{}, lines on the device, sorted items) with the lines' keys in order.
template <class Put>
void with_sorted(const Lines& lines, bool largest, const Put& put) {
  with_key(lines.stream[0].dtype, [&](auto type) {
    const DeviceLines given = on_device(lines);
    const Sorted<decltype(type)> sorted(given, largest);
    put(type, given, sorted.items());
  });
}

void topk(const Lines& lines, int64_t k, bool largest) {
  with_sorted(lines, largest, [&](auto type, const DeviceLines& given, auto* items) {
    launch<put_first<decltype(type)>>(grid_of(lines.count * k), given, items, k);
  });
}
void sort(const Lines& lines, bool descending) { topk(lines, lines.size, descending); }

void kthvalue(const Lines& lines, int64_t k) {
  with_sorted(lines, false, [&](auto type, const DeviceLines& given, auto* items) {
    launch<put_kth<decltype(type)>>(grid_of(lines.count), given, items, k);
  });
}

void median(const Lines& lines, bool ignore_nan) {
  with_sorted(lines, false, [&](auto type, const DeviceLines& given, auto* items) {
    launch<put_median<decltype(type)>>(grid_of(lines.count), given, items, ignore_nan);
  });
}

void mode(const Lines& lines) {
  with_sorted(lines, false, [&](auto type, const DeviceLines& given, auto* items) {
    launch<put_mode<decltype(type)>>({lines.count, kThreads}, given, items);
  });
}

}  // namespace

const SortTable sort_table = {sort, topk, kthvalue, median, mode};

}  // namespace tt::cuda
