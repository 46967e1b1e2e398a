#include "core/api/sort.h"

#include <atomic>

#include "core/api/copy.h"
#include "core/api/order.h"
#include "core/gil.h"
#include "core/iter.h"
#include "core/walker.h"

namespace tt {

namespace {

constexpr int64_t kWork = 16;  // what sorting an element costs, in simple operations

// One line of x, and where its results go. Steps in bytes.
struct Line {
  const char* x;
  int64_t step, size;
  char *values, *indices;
  int64_t value_step, index_step;

  template <class T>
  Keys<T> keys(bool descending) const {
    return {x, step, size, descending ? kNanKey<T> : Bits<T>(0)};
  }

  // x[from] is the to-th result.
  template <class T>
  void put(int64_t to, int64_t from) const {
    write<T>(values + to * value_step, read<T>(x + from * step));
    write<int64_t>(indices + to * index_step, from);
  }
};

// Calls body(line, memory) for every line of x along a dim. x has dims, and elements. Each thread
// has a Memory(size of a line, threads that may work at one).
template <class Memory, class Body>
void for_each_line(const NDArray& x, int dim, const std::vector<NDArray>& out, Body&& body) {
  auto without = [=](Dims dims) {
    dims.erase(dim);
    return dims;
  };
  const Dims shape = without(x.shape());
  const Dims strides[] = {without(x.strides()), without(out[0].strides()),
                          without(out[1].strides())};
  const int64_t size = x.shape()[dim], lines = x.numel() / size, item = itemsize(x.dtype());
  // Lines are shared out among threads; a single one is sorted by all of them.
  const int threads = x.numel() * kWork > cpu::kGrain ? cpu::num_threads() : 1;
  const int workers = static_cast<int>(std::min<int64_t>(threads, lines));
  std::vector<Memory> memories;
  for (int w = 0; w < workers; ++w) memories.emplace_back(size, workers == 1 ? threads : 1);
  std::atomic<int> next{0};
  const WithoutGil unlocked(x.numel() * kWork > cpu::kGrain);
  cpu::parallel_for(lines, workers == 1 ? lines : 1, [&](int64_t begin, int64_t end) {
    Memory& memory = memories[next++];
    Walker<3> walker(shape, {strides[0], strides[1], strides[2]}, begin);
    for (int64_t l = begin; l < end; ++l, walker.advance())
      body(Line{x.data() + walker.offset(0) * item, x.strides()[dim] * item, size,
                out[0].data() + walker.offset(1) * item, out[1].data() + walker.offset(2) * 8,
                out[0].strides()[dim] * item, out[1].strides()[dim] * 8},
           memory);
  });
}

// [of the dtype, of int64], uninitialised.
std::vector<NDArray> results(const NDArray& x, const Dims& shape) {
  return {NDArray::empty(shape, x.dtype()), NDArray::empty(shape, DType::Int64)};
}

// Of a 0-d array: itself, and 0.
std::vector<NDArray> results_of_scalar(const NDArray& x) {
  return {clone(x), full({}, Scalar::of_int(0), DType::Int64)};
}

// ---------------------------------------------------------------------------------- selection
// Selecting wants whole keys: items of 8-byte elements have 16 bytes.
template <class T>
using Item = std::conditional_t<sizeof(T) == 8, WideItem, uint64_t>;

constexpr int kBuckets = 1 << kLargeDigit;

template <class T>
struct Items {
  Buffer<Item<T>> buffer;
  Items(int64_t n, int) : buffer(n) {
    if (n > int64_t{UINT32_MAX})
      throw NotImplementedError("selecting from over 2^32 elements is not implemented");
  }

  static Item<T> make(Bits<T> key, int64_t position) {
    return static_cast<Item<T>>(key) << 32 | static_cast<Item<T>>(position);
  }
};

// The position of the k-th smallest, counted from 0. Among many, only those that share its leading
// bits are looked at closely.
template <class T>
int64_t select(const Keys<T>& keys, int64_t k, Items<T>& memory) {
  Item<T>* const items = memory.buffer.data();
  int64_t count = 0;
  if (keys.n < 4 * kBuckets) {
    for (; count < keys.n; ++count) items[count] = Items<T>::make(keys[count], count);
  } else {
    const auto [low, high] = keys.range();
    const int bits = high > low ? 64 - __builtin_clzll(high - low) : 0;
    auto bucket = [=, low = low, shift = std::max(bits - kLargeDigit, 0)](Bits<T> key) {
      return static_cast<int>((key - low) >> shift);
    };
    int64_t counts[kBuckets] = {};
    for (int64_t i = 0; i < keys.n; ++i) ++counts[bucket(keys[i])];
    int wanted = 0;
    while (k >= counts[wanted]) k -= counts[wanted++];
    for (int64_t i = 0; i < keys.n; ++i)
      if (const Bits<T> key = keys[i]; bucket(key) == wanted)
        items[count++] = Items<T>::make(key, i);
  }
  std::nth_element(items, items + k, items + count);
  return position_of(static_cast<uint64_t>(items[k]));
}

// The k smallest, for a small k: each that is better than the worst goes to its place among them.
template <class T>
void select_few(const Keys<T>& keys, int64_t k, Items<T>& memory) {
  Item<T>* const items = memory.buffer.data();
  int64_t count = 0;
  Bits<T> worst = kNanKey<T>;
  auto offer = [&](int64_t i) {
    const Bits<T> key = keys[i];
    if (count == k && key >= worst) return;  // of equal ones the first is better
    const Item<T> item = Items<T>::make(key, i);
    int64_t place = count < k ? count++ : k - 1;
    for (; place > 0 && item < items[place - 1]; --place) items[place] = items[place - 1];
    items[place] = item;
    worst = static_cast<Bits<T>>(items[count - 1] >> 32);
  };
  int64_t i = 0;
  if constexpr (!is_half_type<T>) {
    // Most elements are worse than the worst: whole vectors of them are told by comparing values.
    constexpr int64_t kBlock = 32;
    if (keys.step == sizeof(T)) {
      for (; i < std::min(k, keys.n); ++i) offer(i);
      for (; i + kBlock <= keys.n; i += kBlock) {
        const T bound =
            read<T>(keys.x + position_of(static_cast<uint64_t>(items[k - 1])) * keys.step);
        const char* const x = keys.x + i * sizeof(T);
        alignas(8) unsigned char better[kBlock];  // or NaN
        if (keys.flip)
          for (int64_t j = 0; j < kBlock; ++j) better[j] = !(read<T>(x + j * sizeof(T)) <= bound);
        else
          for (int64_t j = 0; j < kBlock; ++j) better[j] = !(read<T>(x + j * sizeof(T)) >= bound);
        for (int64_t part = 0; part < kBlock; part += 8)
          for (uint64_t rest = read<uint64_t>(reinterpret_cast<char*>(better) + part); rest;
               rest &= rest - 1)
            offer(i + part + (__builtin_ctzll(rest) >> 3));
      }
    }
  }
  for (; i < keys.n; ++i) offer(i);
}

// The k smallest, in order, at the start of `memory`.
template <class T>
void select_first(const Keys<T>& keys, int64_t k, Items<T>& memory) {
  constexpr int64_t kFew = 16;
  if (k <= kFew) return select_few(keys, k, memory);
  // Items that are none of the k best so far are dropped as they come, the others whenever there
  // are too many: each time at least half of them go, so that is linear altogether.
  const int64_t room = std::min(keys.n, std::max<int64_t>(2 * k, 64));
  Item<T>* const items = memory.buffer.data();
  int64_t count = 0;
  Bits<T> worst = kNanKey<T>;
  bool full = false;
  for (int64_t i = 0; i < keys.n; ++i) {
    const Bits<T> key = keys[i];
    if (full && key >= worst) continue;  // of equal ones the first is better
    if (count == room) {
      std::nth_element(items, items + k - 1, items + count);
      worst = static_cast<Bits<T>>(items[k - 1] >> 32);
      count = k;
      full = true;
      if (key >= worst) continue;
    }
    items[count++] = Items<T>::make(key, i);
  }
  std::nth_element(items, items + k - 1, items + count);
  std::sort(items, items + k);
}

// One result per line: pick(T{}, keys, memory) answers its position.
template <template <class> class Memory, class Pick>
std::vector<NDArray> reduce_lines(const char* name, const NDArray& x, int64_t wanted, bool keepdim,
                                  Pick&& pick) {
  const int dim = wrap_dim(wanted, x.ndim());
  if (x.ndim() == 0) return results_of_scalar(x);
  if (x.shape()[dim] == 0)
    throw IndexError(name, "(): Expected reduction dim ", dim, " to have non-zero size. (shape ",
                     x.shape(), ")");
  Dims shape = x.shape();
  shape[dim] = 1;
  std::vector<NDArray> out = results(x, shape);
  if (x.numel() > 0)
    with_type(x.dtype(), [&](auto type) {
      using T = decltype(type);
      for_each_line<Memory<T>>(x, dim, out, [&](const Line& line, Memory<T>& memory) {
        line.put<T>(0, pick(type, line.keys<T>(false), memory));
      });
    });
  if (!keepdim)
    for (NDArray& array : out) array = array.squeeze({dim});
  return out;
}

void refuse_bool(const char* name, const NDArray& x) {
  if (x.dtype() == DType::Bool)
    throw NotImplementedError("[", name, "] is not implemented for bool on cpu");
}

}  // namespace

std::vector<NDArray> sort(const NDArray& x, int64_t wanted, bool descending) {
  const int dim = wrap_dim(wanted, x.ndim());
  if (x.ndim() == 0) return results_of_scalar(x);
  const Dims strides = like_strides(x);
  std::vector<NDArray> out{NDArray::empty_strided(x.shape(), strides, x.dtype()),
                           NDArray::empty_strided(x.shape(), strides, DType::Int64)};
  if (x.numel() == 0) return out;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    for_each_line<Sorter>(x, dim, out, [&](const Line& line, Sorter& sorter) {
      const uint64_t* const items = sorter.sort(line.keys<T>(descending));
      for (int64_t i = 0; i < line.size; ++i) line.put<T>(i, position_of(items[i]));
    });
  });
  return out;
}

std::vector<NDArray> topk(const NDArray& x, int64_t wanted, int64_t k, bool largest) {
  const int dim = wrap_dim(wanted, x.ndim());
  const int64_t size = x.ndim() ? x.shape()[dim] : 1;
  if (k < 0 || k > size) throw RuntimeError("selected index k out of range");
  if (x.dtype() == DType::Bool) throw RuntimeError("topk does not support bool dtypes on CPU");
  if (x.ndim() == 0) return results_of_scalar(x);
  Dims shape = x.shape();
  shape[dim] = k;
  std::vector<NDArray> out = results(x, shape);
  if (out[0].numel() == 0) return out;
  if (x.strides()[dim] != 1 && size > 1 && x.numel() > cpu::kGrain) {
    // Lines that lie across memory are read faster side by side, even if they are copied first.
    const std::vector<NDArray> found = topk(contiguous(x.transpose(dim, -1)), -1, k, largest);
    for (int i : {0, 1}) {
      const NDArray seen = found[i].transpose(dim, -1);
      copy_into(out[i], &seen);
    }
    return out;
  }
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    auto put = [=](const Line& line, const auto* items) {
      for (int64_t i = 0; i < k; ++i) line.put<T>(i, position_of(static_cast<uint64_t>(items[i])));
    };
    if (k > size / 4)
      for_each_line<Sorter>(x, dim, out, [&](const Line& line, Sorter& sorter) {
        put(line, sorter.sort(line.keys<T>(largest)));
      });
    else
      for_each_line<Items<T>>(x, dim, out, [&](const Line& line, Items<T>& memory) {
        select_first(line.keys<T>(largest), k, memory);
        put(line, memory.buffer.data());
      });
  });
  return out;
}

std::vector<NDArray> kthvalue(const NDArray& x, int64_t dim, bool keepdim, int64_t k) {
  const int d = wrap_dim(dim, x.ndim());
  if (x.ndim() && x.shape()[d] == 0)
    throw IndexError("kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  if (k < 1 || k > (x.ndim() ? x.shape()[d] : 1))
    throw RuntimeError("kthvalue(): selected number k out of range for dimension ", d);
  refuse_bool("kthvalue", x);
  return reduce_lines<Items>(
      "kthvalue", x, dim, keepdim,
      [=](auto, const auto& keys, auto& memory) { return select(keys, k - 1, memory); });
}

std::vector<NDArray> median(const NDArray& x, int64_t dim, bool keepdim, bool ignore_nan) {
  const char* name = ignore_nan ? "nanmedian" : "median";
  refuse_bool(name, x);
  return reduce_lines<Items>(name, x, dim, keepdim,
                             [=](auto type, const auto& keys, auto& memory) -> int64_t {
                               using T = decltype(type);
                               int64_t size = keys.n;
                               if constexpr (is_float_type<T>) {
                                 for (int64_t i = 0; i < keys.n; ++i) {
                                   if (keys[i] != kNanKey<T>) continue;
                                   if (!ignore_nan) return i;
                                   --size;
                                 }
                               }
                               return select(keys, std::max<int64_t>(size - 1, 0) / 2, memory);
                             });
}

namespace {
template <class>
using SorterOf = Sorter;
}

std::vector<NDArray> mode(const NDArray& x, int64_t dim, bool keepdim) {
  return reduce_lines<SorterOf>(
      "mode", x, dim, keepdim, [](auto type, const auto& keys, Sorter& sorter) {
        using T = decltype(type);
        const uint64_t* const items = sorter.sort(keys);
        int64_t found = 0, longest = 0;
        for (int64_t start = 0, end = 0; start < keys.n; start = end) {
          const Bits<T> key = keys[position_of(items[start])];
          const bool nan = is_float_type<T> && key == kNanKey<T>;
          for (end = start + 1; end < keys.n && keys[position_of(items[end])] == key && !nan;)
            ++end;
          if (end - start <= longest) continue;
          longest = end - start;
          found = position_of(items[end - 1]);
        }
        return found;
      });
}

}  // namespace tt
