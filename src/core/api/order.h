// Elements as unsigned integers in their order, and the sorting of those.
//
// A key is an unsigned integer: of floats, NaN has the largest, and -0 that of 0. An item is a key
// in its upper half and the element's position in its lower half: no two items are equal, so every
// way to sort or select them gives what a stable sort would.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ndarray.h"
#include "core/with_type.h"
#include "cpu/parallel.h"

namespace tt {

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 8, uint64_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t,
                                          std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class T>
constexpr Bits<T> kNanKey = static_cast<Bits<T>>(-1);

// The value's key: a < b means order_key(a) < order_key(b).
template <class T>
Bits<T> order_key(T value) {
  constexpr Bits<T> sign = Bits<T>(1) << (8 * sizeof(T) - 1);
  if constexpr (is_float_type<T>) {
    if (value != value) return kNanKey<T>;
    if (value == static_cast<T>(0.0f)) return sign;
    Bits<T> bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Bits<T>>(value) ^ sign;
  } else {
    return static_cast<Bits<T>>(value);
  }
}

// A line of n elements, `step` bytes apart, by their keys; in descending order by those
// complemented.
template <class T>
struct Keys {
  const char* x;
  int64_t step, n;
  Bits<T> flip = 0;

  Bits<T> operator[](int64_t i) const { return order_key(read<T>(x + i * step)) ^ flip; }

  std::pair<Bits<T>, Bits<T>> range() const {  // smallest and largest
    std::pair<Bits<T>, Bits<T>> range{kNanKey<T>, 0};
    for (int64_t i = 0; i < n; ++i) {
      const Bits<T> key = (*this)[i];
      range = {std::min(range.first, key), std::max(range.second, key)};
    }
    return range;
  }
};

// Uninitialised memory from the caching allocator.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t n)
      : memory_(NDArray::empty({n * static_cast<int64_t>(sizeof(T))}, DType::UInt8)) {}
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }

 private:
  NDArray memory_;
};

constexpr int64_t kFewItems = 160;       // below, comparing is faster than counting digits
constexpr int64_t kManyItems = 1 << 15;  // above, larger digits pay, and what fits in a cache
constexpr int kSmallDigit = 8, kLargeDigit = 11;  // bits

__extension__ typedef unsigned __int128 WideItem;  // of keys above 32 bits

inline int64_t position_of(uint64_t item) { return static_cast<uint32_t>(item); }

// What sorting lines takes: memory, and how many threads may work at one line.
class Sorter {
 public:
  Sorter(int64_t longest, int threads)
      : threads_(threads),
        memory_(longest < kFewItems ? longest : 2 * longest + (int64_t{threads} << kLargeDigit)),
        items_(memory_.data()),
        other_(items_ + longest),
        counts_(other_ + longest) {
    if (longest > int64_t{UINT32_MAX})
      throw NotImplementedError("sorting over 2^32 elements is not implemented");
  }

  // Items of the line in ascending order; their keys are only for this function to know.
  template <class T>
  const uint64_t* sort(const Keys<T>& keys) {
    // What the keys have in common is taken off, so that 32 bits tell most of them apart.
    const int64_t n = keys.n;
    const auto [low, high] = keys.range();
    const int bits = high > low ? 64 - __builtin_clzll(high - low) : 0;
    const int dropped = std::max(bits - 32, 0);
    bool sorted = true;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t key = (keys[i] - low) >> dropped;
      items_[i] = key << 32 | static_cast<uint64_t>(i);
      sorted &= i == 0 || items_[i - 1] < items_[i];
    }
    const uint64_t* items = sorted ? items_ : sort_items(n, 32 + bits - dropped);
    if (dropped) settle(keys, const_cast<uint64_t*>(items));
    return items;
  }

 private:
  uint64_t* sort_items(int64_t n, int end);
  void sort_parts(int64_t n, int end);

  // Puts items in order whose keys differ in dropped bits only.
  template <class T>
  static void settle(const Keys<T>& keys, uint64_t* items) {
    for (int64_t start = 0, end = 0; start < keys.n; start = end) {
      for (end = start + 1; end < keys.n && items[end] >> 32 == items[start] >> 32;) ++end;
      if (end - start > 1)
        std::sort(items + start, items + end, [&](uint64_t a, uint64_t b) {
          const Bits<T> key_a = keys[position_of(a)], key_b = keys[position_of(b)];
          return key_a != key_b ? key_a < key_b : a < b;
        });
    }
  }

  int threads_;
  Buffer<uint64_t> memory_;
  uint64_t *items_, *other_, *counts_;
};

}  // namespace tt
