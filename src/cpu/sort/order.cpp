#include "cpu/sort/order.h"

#include <algorithm>
#include <utility>

#include "core/devices/threads.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"

namespace tt::cpu {

namespace {

constexpr int64_t kVeryFewItems = 32;
constexpr int64_t kFewItems = 64;        // below, comparing is faster than counting digits
constexpr int64_t kSomeItems = 1 << 13;  // above, three digits of them are too often equal
constexpr int64_t kManyItems = 1 << 15;  // above, larger digits pay, and what fits in a cache

uint64_t digit_of(uint64_t item, int shift, int bits) { return item >> shift & ((1u << bits) - 1); }

// By the bits from 32 to `end`, least significant digit first. Sorted between `items` and `other`:
// the answer is where they are in the end.
template <int kDigit>
uint64_t* radix_sort(uint64_t* items, uint64_t* other, int64_t n, int end) {
  for (int shift = 32; shift < end; shift += kDigit) {
    uint64_t starts[1 << kDigit] = {}, start = 0;
    for (int64_t i = 0; i < n; ++i) ++starts[digit_of(items[i], shift, kDigit)];
    for (uint64_t& next : starts) start += std::exchange(next, start);
    for (int64_t i = 0; i < n; ++i) other[starts[digit_of(items[i], shift, kDigit)]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// Each to the place that as many others are smaller: no branch to mispredict.
void sort_few(uint64_t* items, int64_t n) {
  uint64_t copy[kVeryFewItems];
  std::copy_n(items, n, copy);
  for (int64_t i = 0; i < n; ++i) {
    int64_t smaller = 0;
    for (int64_t j = 0; j < n; ++j) smaller += copy[j] < copy[i];
    items[smaller] = copy[i];
  }
}

uint64_t* sort_part(uint64_t* items, uint64_t* other, int64_t n, int end) {
  if (n <= kVeryFewItems) {
    sort_few(items, n);
    return items;
  }
  if (n < kFewItems) {
    std::sort(items, items + n);
    return items;
  }
  return n < kManyItems ? radix_sort<kSmallDigit>(items, other, n, end)
                        : radix_sort<kLargeDigit>(items, other, n, end);
}

// Puts items in order whose keys differ in bits that were dropped only.
template <class Key>
void settle(const Key* keys, uint64_t* items, int64_t n) {
  auto equal = [=](int64_t i, int64_t j) { return items[i] >> 32 == items[j] >> 32; };
  for (int64_t i = 1; i < n; ++i) {
    if (!equal(i - 1, i)) continue;
    uint64_t* const start = items + i - 1;
    while (++i < n && equal(i - 1, i)) {
    }
    std::sort(start, items + i, [=](uint64_t a, uint64_t b) {
      const Key key_a = keys[position_of(a)], key_b = keys[position_of(b)];
      return key_a != key_b ? key_a < key_b : a < b;
    });
  }
}

}  // namespace

template <class Key>
void load_keys(DType dtype, const char* x, int64_t step, int64_t n, bool descending, Key* keys) {
  with_type(dtype, [=](auto type) {
    using T = decltype(type);
    if constexpr ((sizeof(T) == 8) == (sizeof(Key) == 8)) {
      const Key flip = descending ? kLargestKey<Key> : 0;
      auto load = [=](int64_t step) {
        for (int64_t i = 0; i < n; ++i) keys[i] = key_of<Key>(read<T>(x + i * step)) ^ flip;
      };
      step == sizeof(T) ? load(sizeof(T)) : load(step);
    }
  });
}
template void load_keys(DType, const char*, int64_t, int64_t, bool, uint32_t*);
template void load_keys(DType, const char*, int64_t, int64_t, bool, uint64_t*);

template <class Key>
const uint64_t* Sorter::sort(const Key* keys, int64_t n) {
  // What the keys have in common is taken off, so that a few bits tell most of them apart.
  KeyRange<Key> range;
  range.add(keys, n);
  const int bits = range.bits(), kept = n < kFewItems || n > kSomeItems ? 32 : 3 * kSmallDigit;
  const int dropped = std::max(bits - kept, 0);
  bool sorted = true;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = (keys[i] - range.low) >> dropped;
    items_[i] = key << 32 | static_cast<uint64_t>(i);
    sorted &= i == 0 || items_[i - 1] < items_[i];
  }
  uint64_t* const items = sorted ? items_ : sort_items(n, 32 + bits - dropped);
  if (dropped) settle(keys, items, n);
  return items;
}
template const uint64_t* Sorter::sort(const uint32_t*, int64_t);
template const uint64_t* Sorter::sort(const uint64_t*, int64_t);

// By the bits from 32 to `end`.
uint64_t* Sorter::sort_items(int64_t n, int end) {
  if (n < kManyItems) return sort_part(items_, other_, n, end);
  sort_parts(n, end);
  return other_;
}

// Many items: dealt out to parts by their first digit, from blocks of them, each of which knows
// where its own go; then the parts, which fit in a cache, are sorted. Neither depends on how many
// threads there are.
void Sorter::sort_parts(int64_t n, int end) {
  // Parts of a few hundred items, if the keys are spread evenly.
  const int digit = std::min(63 - __builtin_clzll(n) - kSmallDigit, kLargeDigit);
  const int64_t parts = int64_t{1} << digit;
  const int shift = std::max(end - digit, 32);
  auto block = [=](int64_t b) { return n * b / threads_; };
  auto for_each_block = [&](auto&& body) {
    check_interrupt();
    parallel_for(threads_, kWhole, [&](int64_t from, int64_t to) {
      for (int64_t b = from; b < to; ++b) body(counts_ + b * parts, block(b), block(b + 1));
    });
  };
  for_each_block([&](uint64_t* count, int64_t from, int64_t to) {
    std::fill_n(count, parts, 0);
    for (int64_t i = from; i < to; ++i) ++count[digit_of(items_[i], shift, digit)];
  });
  uint64_t start = 0;
  for (int64_t part = 0; part < parts; ++part)
    for (int b = 0; b < threads_; ++b) start += std::exchange(counts_[b * parts + part], start);
  for_each_block([&](uint64_t* next, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      other_[next[digit_of(items_[i], shift, digit)]++] = items_[i];
  });
  // Where a part ends, the last block now knows. A thread sorts the parts that start in its block.
  const uint64_t* const ends = counts_ + (threads_ - 1) * parts;
  check_interrupt();
  parallel_for(threads_, kWhole, [&](int64_t from, int64_t to) {
    int64_t begin = 0;
    for (int64_t part = 0; part < parts; begin = ends[part++]) {
      const int64_t size = ends[part] - begin;
      if (size < 2 || begin < block(from) || begin >= block(to)) continue;
      uint64_t* const sorted = sort_part(other_ + begin, items_ + begin, size, shift);
      if (sorted != other_ + begin) std::copy_n(sorted, size, other_ + begin);
    }
  });
}

}  // namespace tt::cpu
