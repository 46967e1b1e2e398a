// Elements as keys, and the sorting of those: what the kernels that sort, search and find elements
// that occur again share.
//
// An item is a key (core/formulas/keys.h) in its upper half and the element's position in its lower
// half: no two items are equal, so every way to sort or select them gives what a stable sort would.
#pragma once
#include "core/formulas/keys.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {

// The keys of n elements, `step` bytes apart; for descending order complemented.
template <class Key>
void load_keys(DType dtype, const char* x, int64_t step, int64_t n, bool descending, Key* keys);

template <class Key>
struct KeyRange {
  Key low = kLargestKey<Key>, high = 0;

  void add(const Key* keys, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      low = keys[i] < low ? keys[i] : low;
      high = keys[i] > high ? keys[i] : high;
    }
  }
  // That tell the keys apart.
  int bits() const { return high > low ? 64 - __builtin_clzll(high - low) : 0; }
};

constexpr int kSmallDigit = 8, kLargeDigit = 11;  // bits

inline int64_t position_of(uint64_t item) { return static_cast<uint32_t>(item); }

// Sorts keys, in memory that it is given.
class Sorter {
 public:
  // What it takes to sort up to `longest` keys, by so many threads.
  static int64_t bytes(int64_t longest, int threads) {
    return 8 * (2 * longest + (int64_t{threads} << kLargeDigit));
  }
  Sorter(char* memory, int64_t longest, int threads)
      : threads_(threads),
        items_(reinterpret_cast<uint64_t*>(memory)),
        other_(items_ + longest),
        counts_(other_ + longest) {}

  // Items of the keys in ascending order; their upper halves are only for this class to know.
  template <class Key>
  const uint64_t* sort(const Key* keys, int64_t n);

 private:
  uint64_t* sort_items(int64_t n, int end);
  void sort_parts(int64_t n, int end);

  int threads_;
  uint64_t *items_, *other_, *counts_;
};

}  // namespace tt::cpu
