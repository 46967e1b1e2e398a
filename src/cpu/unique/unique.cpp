// Finding elements, or rows, that occur again.
#include "core/tables/unique.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "cpu/sort/order.h"

namespace tt::cpu {

namespace {

constexpr int64_t kWork = 8;  // what finding an element costs, in simple operations

// From element `begin` to `end`, of which the first is in group g, or starts the next one. What it
// takes are values, which stay in registers whatever is written.
template <class At, class Same, class Put>
void fill_groups(int64_t begin, int64_t end, int64_t g, char* first, int64_t* sizes,
                 int64_t* inverse, At at, Same same, Put put) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t position = at(i);
    if (i == 0 || !same(at(i - 1), position)) {
      put(first, ++g, position);
      if (sizes) sizes[g] = i;  // so far where it starts
    }
    if (inverse) inverse[position] = g;
  }
}

// Groups of equal elements: at(i) is the position of the i-th, same(a, b) tells whether two that
// follow each other are equal, put(first, g, position) takes the first of each.
template <class At, class Same, class Put>
int64_t group(const UniqueArgs& a, At at, Same same, Put put) {
  const int64_t n = a.rows;
  const int blocks = n > kGrain ? num_threads() : 1;
  auto block = [=](int64_t b) { return n * b / blocks; };
  std::vector<int64_t> before(blocks + 1);  // groups that start before each block
  parallel_for(blocks, 1, [=, &before](int64_t from, int64_t to) {
    for (int64_t b = from; b < to; ++b) {
      const int64_t begin = block(b), end = block(b + 1);
      int64_t count = begin == 0 && end > 0;
      for (int64_t i = std::max<int64_t>(begin, 1); i < end; ++i) count += !same(at(i - 1), at(i));
      before[b + 1] = count;
    }
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  const int64_t count = before[blocks];
  parallel_for(blocks, 1, [&](int64_t from, int64_t to) {
    fill_groups(block(from), block(to), before[from] - 1, a.first, a.sizes, a.inverse, at, same,
                put);
  });
  if (a.sizes)
    for (int64_t g = 0; g < count; ++g)
      a.sizes[g] = (g + 1 < count ? a.sizes[g + 1] : n) - a.sizes[g];
  return count;
}

// The same, of elements in the order of `items`, or as they stand.
template <class Same, class Put>
int64_t group_items(const UniqueArgs& a, const uint64_t* items, Same same, Put put) {
  if (a.consecutive) return group(a, [](int64_t i) { return i; }, same, put);
  return group(a, [=](int64_t i) { return position_of(items[i]); }, same, put);
}

int64_t unique(const UniqueArgs& a) {
  const WithoutGil unlocked(a.rows * kWork > kGrain);
  int64_t count = 0;
  auto group_elements = [&](const uint64_t* items) {
    with_type(a.dtype, [&](auto type) {
      using T = decltype(type);
      auto at = [x = a.x](int64_t i) { return read<T>(x + i * sizeof(T)); };
      count = group_items(
          a, items, [=](int64_t i, int64_t j) { return at(i) == at(j); },  // NaN equals nothing
          [=](char* first, int64_t g, int64_t i) { write<T>(first + g * sizeof(T), at(i)); });
    });
  };
  if (a.consecutive) {
    group_elements(nullptr);
    return count;
  }
  with_key(a.dtype, [&](auto type) {
    using Key = decltype(type);
    const int threads = a.rows * kWork > kGrain ? num_threads() : 1;
    const Scratch<Key> keys(a.rows);
    const Scratch<char> memory(Sorter::bytes(a.rows, threads));
    load_keys(a.dtype, a.x, itemsize(a.dtype), a.rows, false, keys.data);
    group_elements(Sorter(memory.data, a.rows, threads).sort(keys.data, a.rows));
  });
  return count;
}

int64_t unique_rows(const UniqueArgs& a) {
  const WithoutGil unlocked(a.rows * a.width * kWork > kGrain);
  int64_t count = 0;
  with_key(a.dtype, [&](auto type) {
    using Key = decltype(type);
    const Scratch<Key> keys(a.rows * a.width);
    load_keys(a.dtype, a.x, itemsize(a.dtype), a.rows * a.width, false, keys.data);
    auto row = [=, keys = keys.data](int64_t i) { return keys + i * a.width; };
    std::vector<uint64_t> order(a.consecutive ? 0 : a.rows);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [=](uint64_t i, uint64_t j) {
      const Key* const end = row(i) + a.width;
      const auto [x, y] = std::mismatch<const Key*, const Key*>(row(i), end, row(j));
      return x != end && *x < *y;
    });
    auto same = [=](int64_t i, int64_t j) {
      const Key *const x = row(i), *const end = x + a.width;
      const bool nan = is_floating(a.dtype) && std::find(x, end, kLargestKey<Key>) != end;
      return !nan && std::equal(x, end, row(j));
    };
    count = group_items(a, order.data(), same, [](char* first, int64_t g, int64_t i) {
      write<int64_t>(first + 8 * g, i);
    });
  });
  return count;
}

}  // namespace

extern const UniqueTable unique_table = {unique, unique_rows};

}  // namespace tt::cpu
