#include "core/api/order.h"

namespace tt {

namespace {

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

uint64_t* sort_part(uint64_t* items, uint64_t* other, int64_t n, int end) {
  if (n < kFewItems) {
    std::sort(items, items + n);
    return items;
  }
  return n < kManyItems ? radix_sort<kSmallDigit>(items, other, n, end)
                        : radix_sort<kLargeDigit>(items, other, n, end);
}

}  // namespace

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
  constexpr int64_t kParts = int64_t{1} << kLargeDigit;
  const int shift = std::max(end - kLargeDigit, 32);
  auto block = [=](int64_t b) { return n * b / threads_; };
  auto for_each_block = [&](auto&& body) {
    cpu::parallel_for(threads_, 1, [&](int64_t from, int64_t to) {
      for (int64_t b = from; b < to; ++b) body(counts_ + b * kParts, block(b), block(b + 1));
    });
  };
  for_each_block([&](uint64_t* count, int64_t from, int64_t to) {
    std::fill_n(count, kParts, 0);
    for (int64_t i = from; i < to; ++i) ++count[digit_of(items_[i], shift, kLargeDigit)];
  });
  uint64_t start = 0;
  for (int64_t part = 0; part < kParts; ++part)
    for (int b = 0; b < threads_; ++b) start += std::exchange(counts_[b * kParts + part], start);
  for_each_block([&](uint64_t* next, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      other_[next[digit_of(items_[i], shift, kLargeDigit)]++] = items_[i];
  });
  // Where a part ends, the last block now knows. A thread sorts the parts that start in its block.
  const uint64_t* const ends = counts_ + (threads_ - 1) * kParts;
  cpu::parallel_for(threads_, 1, [&](int64_t from, int64_t to) {
    int64_t begin = 0;
    for (int64_t part = 0; part < kParts; begin = ends[part++]) {
      const int64_t size = ends[part] - begin;
      if (size < 2 || begin < block(from) || begin >= block(to)) continue;
      uint64_t* const sorted = sort_part(other_ + begin, items_ + begin, size, shift);
      if (sorted != other_ + begin) std::copy_n(sorted, size, other_ + begin);
    }
  });
}

}  // namespace tt
