// Sorting of lines, and the selection of elements by their order.
#include "core/tables/sort.h"

#include <algorithm>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "core/walker.h"
#include "cpu/sort/order.h"

namespace tt::cpu {

namespace {

constexpr int64_t kWork = 16;  // what sorting an element costs, in simple operations

// One line of x, and where its results go. Steps in bytes.
struct Line {
  DType dtype;
  const char* x;
  int64_t step, size;
  char *values, *positions;
  int64_t value_step, position_step;

  // The results are the elements that the items stand for. Not inlined, and from a copy of the
  // line: else its addresses would be loaded again for each element.
  template <class Item>
  __attribute__((noinline)) void put(const Item* items, int64_t count) const {
    const Line line = *this;
    with_size(itemsize(dtype), [=](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t from = position_of(static_cast<uint64_t>(items[i]));
        write<T>(line.values + i * line.value_step, read<T>(line.x + from * line.step));
        write<int64_t>(line.positions + i * line.position_step, from);
      }
    });
  }
};

// Calls body(line, memory) for every line, with `bytes` of memory per thread.
template <class Body>
void for_each_line(const Lines& lines, int64_t bytes, Body&& body) {
  const bool large = lines.count * lines.size * kWork > kGrain;
  const int64_t grain = large ? kGrain / (lines.size * kWork + 1) + 1 : lines.count;
  const LineStream *x = &lines.stream[0], *values = x + 1, *positions = x + 2;
  const WithoutGil unlocked(large);
  parallel_with_scratch(
      lines.count, grain, (bytes + 63) / 64 * 64, [&](int64_t begin, int64_t end, char* memory) {
        Walker<3> at(lines.shape, {x->strides, values->strides, positions->strides}, begin);
        for (; begin < end; ++begin, at.advance())
          body(Line{x->dtype, x->data + at.offset(0), x->step, lines.size,
                    values->data + at.offset(1), positions->data + at.offset(2), values->step,
                    positions->step},
               memory);
      });
}

// Calls body(line, keys, items in ascending order).
template <class Body>
void for_each_sorted_line(const Lines& lines, bool descending, Body&& body) {
  const bool alone = lines.count == 1 && lines.size * kWork > kGrain;
  const int threads = alone ? num_threads() : 1;  // else lines are shared out among them
  const int64_t room = Sorter::bytes(lines.size, threads);
  with_key(lines.stream[0].dtype, [&](auto type) {
    using Key = decltype(type);
    const int64_t bytes = room + lines.size * static_cast<int64_t>(sizeof(Key));
    for_each_line(lines, bytes, [&](const Line& line, char* memory) {
      Key* const keys = reinterpret_cast<Key*>(memory + room);
      load_keys(line.dtype, line.x, line.step, line.size, descending, keys);
      body(line, keys, Sorter(memory, line.size, threads).sort(keys, line.size));
    });
  });
}

// ---------------------------------------------------------------------------------- selection
// Selecting wants whole keys: items of 8-byte elements have 16 bytes.
__extension__ typedef unsigned __int128 WideItem;
template <class Key>
using Item = std::conditional_t<sizeof(Key) == 8, WideItem, uint64_t>;

template <class Key>
Item<Key> item_of(Key key, int64_t position) {
  return static_cast<Item<Key>>(key) << 32 | static_cast<Item<Key>>(position);
}

// Calls body(keys, position of the first, their number) for a line piece by piece.
template <class Key, class Body>
void for_keys(const Line& line, bool descending, Body&& body) {
  constexpr int64_t kPiece = 512;
  Key keys[kPiece];
  for (int64_t i = 0; i < line.size; i += kPiece) {
    const int64_t n = std::min(kPiece, line.size - i);
    load_keys(line.dtype, line.x + i * line.step, line.step, n, descending, keys);
    body(static_cast<const Key*>(keys), i, n);
  }
}

// Makes items of the keys that share their leading bits with the k-th smallest, counted from 0, and
// answers how many they are. k is then counted among them.
template <class Key>
int64_t narrow(const Line& line, int64_t& k, Item<Key>* items) {
  constexpr int kBuckets = 1 << kLargeDigit;
  KeyRange<Key> range;
  for_keys<Key>(line, false, [&](const Key* keys, int64_t, int64_t n) { range.add(keys, n); });
  auto bucket = [low = range.low, shift = std::max(range.bits() - kLargeDigit, 0)](Key key) {
    return static_cast<int>((key - low) >> shift);
  };
  int64_t counts[kBuckets] = {}, count = 0;
  for_keys<Key>(line, false, [&](const Key* keys, int64_t, int64_t n) {
    for (int64_t i = 0; i < n; ++i) ++counts[bucket(keys[i])];
  });
  int wanted = 0;
  while (k >= counts[wanted]) k -= counts[wanted++];
  for_keys<Key>(line, false, [&](const Key* keys, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if (bucket(keys[i]) == wanted) items[count++] = item_of(keys[i], first + i);
  });
  return count;
}

// The item of the k-th smallest, counted from 0.
template <class Key>
Item<Key> select(const Line& line, int64_t k, Item<Key>* items) {
  constexpr int64_t kMany = 4 << kLargeDigit;  // that it pays to look at a part of them only
  int64_t count = line.size;
  if (count < kMany)
    for_keys<Key>(line, false, [=](const Key* keys, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; ++i) items[first + i] = item_of(keys[i], first + i);
    });
  else
    count = narrow<Key>(line, k, items);
  std::nth_element(items, items + k, items + count);
  return items[k];
}

// The item of the lower of two middle elements.
template <class Key>
Item<Key> select_median(const Line& line, bool ignore_nan, Item<Key>* items) {
  int64_t numbers = line.size, first_nan = -1;
  if (is_floating(line.dtype))
    for_keys<Key>(line, false, [&](const Key* keys, int64_t first, int64_t n) {
      const int64_t nans = std::count(keys, keys + n, kLargestKey<Key>);
      if (nans > 0 && first_nan < 0)
        first_nan = first + (std::find(keys, keys + n, kLargestKey<Key>) - keys);
      numbers -= nans;
    });
  if (first_nan >= 0 && !ignore_nan) return item_of(kLargestKey<Key>, first_nan);
  return select<Key>(line, std::max<int64_t>(numbers - 1, 0) / 2, items);
}

// The k smallest items so far, and some more. Of a small k, each that is better than the worst goes
// to its place among them; else those that are not among the k best are dropped whenever there are
// too many: each time at least half of them go, so that is linear altogether.
template <class Key>
class Best {
 public:
  static constexpr int64_t kFew = 16;
  Best(int64_t k, Item<Key>* items) : k_(k), items_(items) {}

  // Once there are k, only better keys than this are worth an offer: of equal ones the first is.
  bool full() const { return full_; }
  Key worst() const { return worst_; }

  void offer(Key key, int64_t position) {
    const Item<Key> item = item_of(key, position);
    if (k_ > kFew) {
      if (count_ == 2 * k_) drop();
      if (!full_ || key < worst_) items_[count_++] = item;
      return;
    }
    if (full_ && key >= worst_) return;
    int64_t place = full_ ? k_ - 1 : count_++;
    for (; place > 0 && item < items_[place - 1]; --place) items_[place] = items_[place - 1];
    items_[place] = item;
    full_ = count_ == k_;
    worst_ = key_at(count_ - 1);
  }
  const Item<Key>* in_order() {
    if (k_ <= kFew) return items_;
    drop();
    std::sort(items_, items_ + k_);
    return items_;
  }

 private:
  Key key_at(int64_t i) const { return static_cast<Key>(items_[i] >> 32); }
  void drop() {
    std::nth_element(items_, items_ + k_ - 1, items_ + count_);
    count_ = k_;
    full_ = true;
    worst_ = key_at(k_ - 1);
  }

  const int64_t k_;
  Item<Key>* const items_;
  int64_t count_ = 0;
  bool full_ = false;
  Key worst_ = kLargestKey<Key>;
};

// The items of the k smallest elements, in order.
template <class Key>
const Item<Key>* select_first(const Line& line, bool descending, int64_t k, Item<Key>* items) {
  constexpr int64_t kPart = 32;
  Best<Key> best(k, items);
  for_keys<Key>(line, descending, [&](const Key* keys, int64_t first, int64_t n) {
    int64_t i = 0;
    for (; i < n && !best.full(); ++i) best.offer(keys[i], first + i);
    // Most elements are worse than the worst: vectors of them are told together.
    for (; i + kPart <= n; i += kPart) {
      const Key worst = best.worst();
      alignas(8) char better[kPart];
      for (int64_t j = 0; j < kPart; ++j) better[j] = keys[i + j] < worst;
      for (int64_t j = 0; j < kPart; j += 8)
        for (uint64_t rest = read<uint64_t>(better + j); rest; rest &= rest - 1) {
          const int64_t at = i + j + (__builtin_ctzll(rest) >> 3);
          best.offer(keys[at], first + at);
        }
    }
    for (; i < n; ++i)
      if (keys[i] < best.worst()) best.offer(keys[i], first + i);
  });
  return best.in_order();
}

// Calls body(line, a key, items), the items being memory for all of a line.
template <class Body>
void for_each_line_of_items(const Lines& lines, Body&& body) {
  with_key(lines.stream[0].dtype, [&](auto type) {
    using Type = Item<decltype(type)>;
    for_each_line(
        lines, lines.size * static_cast<int64_t>(sizeof(Type)),
        [&](const Line& line, char* memory) { body(line, type, reinterpret_cast<Type*>(memory)); });
  });
}

// The item of the most frequent element of a sorted line: the last item of the smallest such. Each
// NaN is an element of its own, the largest; but where none occurs twice, a NaN that the line
// begins with, as in PyTorch.
template <class Key>
uint64_t find_mode(const Key* keys, int64_t n, const uint64_t* items, bool floating) {
  uint64_t found = 0;
  int64_t longest = 0;
  for (int64_t start = 0, end = 0; start < n; start = end) {
    const Key key = keys[position_of(items[start])];
    const bool nan = floating && key == kLargestKey<Key>;  // equals nothing
    for (end = start + 1; end < n && keys[position_of(items[end])] == key && !nan;) ++end;
    const bool leads = nan && longest == 1 && position_of(items[start]) == 0;
    if (end - start <= longest && !leads) continue;
    longest = end - start;
    found = items[end - 1];
  }
  return found;
}

void sort(const Lines& lines, bool descending) {
  for_each_sorted_line(lines, descending, [](const Line& line, const auto*, const uint64_t* items) {
    line.put(items, line.size);
  });
}

void topk(const Lines& lines, int64_t k, bool largest) {
  if (k > lines.size / 4)
    return for_each_sorted_line(
        lines, largest,
        [=](const Line& line, const auto*, const uint64_t* items) { line.put(items, k); });
  for_each_line_of_items(lines, [=](const Line& line, auto key, auto* items) {
    line.put(select_first<decltype(key)>(line, largest, k, items), k);
  });
}

void kthvalue(const Lines& lines, int64_t k) {
  for_each_line_of_items(lines, [=](const Line& line, auto key, auto* items) {
    const auto item = select<decltype(key)>(line, k, items);
    line.put(&item, 1);
  });
}

void median(const Lines& lines, bool ignore_nan) {
  for_each_line_of_items(lines, [=](const Line& line, auto key, auto* items) {
    const auto item = select_median<decltype(key)>(line, ignore_nan, items);
    line.put(&item, 1);
  });
}

void mode(const Lines& lines) {
  for_each_sorted_line(lines, false, [](const Line& line, const auto* keys, const uint64_t* items) {
    const uint64_t item = find_mode(keys, line.size, items, is_floating(line.dtype));
    line.put(&item, 1);
  });
}

}  // namespace

extern const SortTable sort_table = {sort, topk, kthvalue, median, mode};

}  // namespace tt::cpu
