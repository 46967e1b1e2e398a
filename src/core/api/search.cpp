#include "core/api/search.h"

#include <numeric>

#include "core/api/copy.h"
#include "core/api/order.h"
#include "core/gil.h"

namespace tt {

namespace {

constexpr int64_t kWork = 8;  // what finding an element costs, in simple operations

template <class T>
const T* data_of(const NDArray& array) {
  return reinterpret_cast<const T*>(array.data());
}

template <class T>
Keys<T> keys_of(const NDArray& flat) {
  return {flat.data(), sizeof(T), flat.numel()};
}

// How many of the first n positions are before a place: `before(i)` is true up to it.
template <class Before>
int64_t count_before(int64_t n, Before&& before) {
  int64_t low = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    if (before(low + half)) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

void check_sorter(const NDArray& boundaries, const NDArray& sorter) {
  if (sorter.shape() != boundaries.shape())
    throw RuntimeError(
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
        "tensor ",
        boundaries.shape(), "and got sorter tensor ", sorter.shape());
  if (sorter.dtype() != DType::Int64)
    throw RuntimeError("torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
                       sorter.dtype());
}

// Groups of equal elements: `order` (null: as they stand) lists positions, `same(a, b)` tells
// whether two that follow each other are equal. [where each group's first stands, group of each
// position, size of each group].
template <class Same>
std::vector<NDArray> group(int64_t n, const uint64_t* order, const Dims& shape, Same&& same) {
  NDArray inverse = NDArray::empty(shape, DType::Int64);
  int64_t* const groups = reinterpret_cast<int64_t*>(inverse.data());
  auto at = [=](int64_t i) { return order ? position_of(order[i]) : i; };
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !same(at(i - 1), at(i))) starts.push_back(i);
    groups[at(i)] = static_cast<int64_t>(starts.size()) - 1;
  }
  const int64_t count = starts.size();
  starts.push_back(n);
  NDArray firsts = NDArray::empty({count}, DType::Int64), counts = firsts;
  counts = NDArray::empty({count}, DType::Int64);
  for (int64_t g = 0; g < count; ++g) {
    reinterpret_cast<int64_t*>(firsts.data())[g] = at(starts[g]);
    reinterpret_cast<int64_t*>(counts.data())[g] = starts[g + 1] - starts[g];
  }
  return {firsts, inverse, counts};
}

template <class T>
bool equal(T a, T b) {
  return a == b;  // NaN equals nothing
}

}  // namespace

NDArray searchsorted(const NDArray& given, const NDArray& values, bool right, bool int32,
                     const NDArray* sorter) {
  if (given.dtype() != values.dtype())
    throw RuntimeError("[searchsorted] expected values of dtype ", given.dtype(), ", got ",
                       values.dtype());
  if (sorter) check_sorter(given, *sorter);
  const NDArray boundaries = contiguous(given), flat = contiguous(values);
  const NDArray order = sorter ? contiguous(*sorter) : boundaries;
  const int64_t size = boundaries.shape().back(), rows = size ? boundaries.numel() / size : 1;
  if (sorter)
    for (int64_t i = 0; i < order.numel(); ++i)
      if (const int64_t place = read<int64_t>(order.data() + 8 * i); place < 0 || place >= size)
        throw RuntimeError("torch.searchsorted(): sorter index out of range");
  NDArray out = NDArray::empty(values.shape(), int32 ? DType::Int32 : DType::Int64);
  if (out.numel() == 0) return out;
  const int64_t each = values.numel() / rows;
  with_type(given.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      throw NotImplementedError("[searchsorted] is not implemented for bool on cpu");
    } else {
      const WithoutGil unlocked(out.numel() * kWork > cpu::kGrain);
      cpu::parallel_for(out.numel(), cpu::kGrain / kWork, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T value = read<T>(flat.data() + i * sizeof(T));
          const int64_t first = rows == 1 ? 0 : i / each * size;
          auto boundary = [&](int64_t place) {
            if (sorter) place = read<int64_t>(order.data() + 8 * (first + place));
            return read<T>(boundaries.data() + (first + place) * sizeof(T));
          };
          const int64_t found =
              right ? count_before(size, [&](int64_t b) { return !(boundary(b) > value); })
                    : count_before(size, [&](int64_t b) { return !(boundary(b) >= value); });
          if (int32)
            write<int32_t>(out.data() + 4 * i, static_cast<int32_t>(found));
          else
            write<int64_t>(out.data() + 8 * i, found);
        }
      });
    }
  });
  return out;
}

NDArray isin(const NDArray& x, const NDArray& others, bool invert) {
  if (x.dtype() != others.dtype())
    throw RuntimeError("[isin] expected others of dtype ", x.dtype(), ", got ", others.dtype());
  const NDArray flat = contiguous(x), from = contiguous(others);
  NDArray out = NDArray::empty(x.shape(), DType::Bool);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Keys<T> keys = keys_of<T>(flat), wanted = keys_of<T>(from);
    const Buffer<Bits<T>> sorted(wanted.n);
    Sorter sorter(wanted.n, cpu::num_threads());
    const WithoutGil unlocked((x.numel() + from.numel()) * kWork > cpu::kGrain);
    const uint64_t* const items = sorter.sort(wanted);
    for (int64_t i = 0; i < wanted.n; ++i) sorted.data()[i] = wanted[position_of(items[i])];
    const Bits<T>*const first = sorted.data(), *const last = first + wanted.n;
    cpu::parallel_for(x.numel(), cpu::kGrain / kWork, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Bits<T> key = keys[i];
        const bool nan = is_float_type<T> && key == kNanKey<T>;
        const bool found = !nan && std::binary_search(first, last, key);
        write<bool>(out.data() + i, found != invert);
      }
    });
  });
  return out;
}

std::vector<NDArray> unique(const NDArray& x, bool consecutive) {
  const NDArray flat = contiguous(x);
  std::vector<NDArray> result;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Keys<T> keys = keys_of<T>(flat);
    auto value = [&](int64_t i) { return read<T>(flat.data() + i * sizeof(T)); };
    Sorter sorter(consecutive ? 0 : keys.n, cpu::num_threads());
    const WithoutGil unlocked(x.numel() * kWork > cpu::kGrain);
    const uint64_t* const order = consecutive ? nullptr : sorter.sort(keys);
    result = group(keys.n, order, x.shape(),
                   [&](int64_t a, int64_t b) { return equal(value(a), value(b)); });
    NDArray values = NDArray::empty(result[0].shape(), x.dtype());
    for (int64_t g = 0; g < values.numel(); ++g)
      write<T>(values.data() + g * sizeof(T), value(data_of<int64_t>(result[0])[g]));
    result[0] = values;
  });
  return result;
}

std::vector<NDArray> unique_rows(const NDArray& x, bool consecutive) {
  if (x.ndim() != 2) throw RuntimeError("[unique_rows] expected a matrix, got ", x.shape());
  const NDArray rows = contiguous(x);
  const int64_t n = x.shape()[0], width = x.shape()[1];
  std::vector<NDArray> result;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    auto row = [&](int64_t i) {
      return Keys<T>{rows.data() + i * width * sizeof(T), sizeof(T), width};
    };
    std::vector<uint64_t> order(consecutive ? 0 : n);
    std::iota(order.begin(), order.end(), uint64_t{0});
    const WithoutGil unlocked(x.numel() * kWork > cpu::kGrain);
    std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
      const Keys<T> left = row(a), right = row(b);
      for (int64_t i = 0; i < width; ++i)
        if (left[i] != right[i]) return left[i] < right[i];
      return false;
    });
    result = group(n, consecutive ? nullptr : order.data(), {n}, [&](int64_t a, int64_t b) {
      const char *left = row(a).x, *right = row(b).x;
      for (int64_t i = 0; i < width; ++i)
        if (!equal(read<T>(left + i * sizeof(T)), read<T>(right + i * sizeof(T)))) return false;
      return true;
    });
  });
  return result;
}

}  // namespace tt
