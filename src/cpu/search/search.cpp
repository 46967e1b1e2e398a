// Finding elements: among sorted boundaries, and among others.
#include "core/tables/search.h"

#include <algorithm>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "cpu/sort/order.h"

namespace tt::cpu {

namespace {

constexpr int64_t kWork = 8;  // what finding an element costs, in simple operations

// For each of the searches, how many of the first n positions come before its place: before(k, i)
// is true up to it. Side by side, the searches hide each other's latency; and halves are chosen by
// arithmetic, as a branch would be mispredicted every other time. Positions are tried in PyTorch's
// order: among boundaries that are not sorted, it decides.
constexpr int64_t kTogether = 8;
template <class Before>
void count_before(int64_t n, int64_t (&low)[kTogether], Before&& before) {
  std::fill_n(low, kTogether, 0);
  if (n == 0) return;
  int64_t left[kTogether];
  std::fill_n(left, kTogether, n);
  for (int64_t most = n; most > 0; most /= 2)
    for (int64_t k = 0; k < kTogether; ++k) {
      const int64_t half = left[k] / 2;  // of none left, the answer is ignored
      const bool taken = before(k, std::min(low[k] + half, n - 1)) & (left[k] > 0);
      const int64_t all = -static_cast<int64_t>(taken);
      low[k] += all & (half + 1);
      left[k] = half + (all & (left[k] - 2 * half - 1));
    }
}

// The values [begin, end), counted through all rows.
template <class T>
void search(const SearchArgs& a, int64_t begin, int64_t end) {
  int64_t found[kTogether];
  T value[kTogether];
  for (int64_t i = begin, n; i < end; i += n) {
    const int64_t row = a.rows == 1 ? 0 : i / a.each, first = row * a.size;
    n = std::min({kTogether, end - i, a.rows == 1 ? end : (row + 1) * a.each - i});
    for (int64_t k = 0; k < kTogether; ++k)
      value[k] = read<T>(a.values + (i + std::min(k, n - 1)) * sizeof(T));
    auto boundary = [&](int64_t place) {
      if (a.order) place = read<int64_t>(a.order + 8 * (first + place));
      return read<T>(a.boundaries + (first + place) * static_cast<int64_t>(sizeof(T)));
    };
    if (a.right)
      count_before(a.size, found, [&](int64_t k, int64_t b) { return !(boundary(b) > value[k]); });
    else
      count_before(a.size, found, [&](int64_t k, int64_t b) { return !(boundary(b) >= value[k]); });
    for (int64_t k = 0; k < n; ++k)
      if (a.int32)
        write<int32_t>(a.out + 4 * (i + k), static_cast<int32_t>(found[k]));
      else
        write<int64_t>(a.out + 8 * (i + k), found[k]);
  }
}

// Whether the elements of x from `begin` on, of which these are the keys, are among the sorted.
template <class Key>
void search(const IsinArgs& a, const Key* sorted, const Key* keys, int64_t begin, int64_t count) {
  int64_t place[kTogether];
  for (int64_t i = 0; i < count; i += kTogether) {
    auto key = [=](int64_t k) { return keys[std::min(i + k, count - 1)]; };
    count_before(a.count, place, [=](int64_t k, int64_t at) { return sorted[at] < key(k); });
    for (int64_t k = 0; k < std::min(kTogether, count - i); ++k) {
      const bool nan = is_floating(a.dtype) && key(k) == kLargestKey<Key>;
      const bool found = !nan && place[k] < a.count && sorted[place[k]] == key(k);
      a.out[begin + i + k] = found != a.invert;
    }
  }
}

void searchsorted(const SearchArgs& a) {
  const int64_t n = a.rows * a.each;
  const WithoutGil unlocked(n * kWork > kGrain);
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>)
      parallel_for(n, kGrain / kWork,
                   [&](int64_t begin, int64_t end) { search<T>(a, begin, end); });
  });
}

void isin(const IsinArgs& a) {
  const WithoutGil unlocked((a.n + a.count) * kWork > kGrain);
  with_key(a.dtype, [&](auto type) {
    using Key = decltype(type);
    const int64_t item = itemsize(a.dtype);
    const int threads = a.count * kWork > kGrain ? num_threads() : 1;
    const Scratch<Key> keys(a.count), sorted(a.count);
    const Scratch<char> memory(Sorter::bytes(a.count, threads));
    load_keys(a.dtype, a.others, item, a.count, false, keys.data);
    Sorter sorter(memory.data, a.count, threads);
    const uint64_t* const items = sorter.sort(keys.data, a.count);
    for (int64_t i = 0; i < a.count; ++i) sorted.data[i] = keys.data[position_of(items[i])];
    parallel_for(a.n, kGrain / kWork, [&](int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 512;
      Key block[kBlock];
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t count = std::min(kBlock, end - i);
        load_keys(a.dtype, a.x + i * item, item, count, false, block);
        search(a, sorted.data, block, i, count);
      }
    });
  });
}

}  // namespace

extern const SearchTable search_table = {searchsorted, isin};

}  // namespace tt::cpu
