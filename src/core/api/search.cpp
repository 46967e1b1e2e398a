#include "core/api/search.h"

#include <numeric>

#include "core/api/copy.h"
#include "core/api/order.h"
#include "core/gil.h"

namespace tt {

namespace {

constexpr int64_t kWork = 8;  // what finding an element costs, in simple operations

template <class T>
Keys<T> keys_of(const NDArray& flat) {
  return {flat.data(), sizeof(T), flat.numel()};
}

// For each of the searches, how many of the first n positions come before its place: before(k, i)
// is true up to it. Side by side, the searches hide each other's latency; and halves are chosen by
// arithmetic, as a branch would be mispredicted every other time. Positions are tried in PyTorch's
// order: among boundaries that are not sorted, it decides.
constexpr int kTogether = 8;
template <class Before>
void count_before(int64_t n, int64_t (&low)[kTogether], Before&& before) {
  std::fill_n(low, kTogether, 0);
  if (n == 0) return;
  int64_t left[kTogether];
  std::fill_n(left, kTogether, n);
  for (int64_t most = n; most > 0; most /= 2)
    for (int k = 0; k < kTogether; ++k) {
      const int64_t half = left[k] / 2;  // of none left, the answer is ignored
      const bool taken = before(k, std::min(low[k] + half, n - 1)) & (left[k] > 0);
      const int64_t all = -static_cast<int64_t>(taken);
      low[k] += all & (half + 1);
      left[k] = half + (all & (left[k] - 2 * half - 1));
    }
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

// Groups of equal elements: at(i) is the position of the i-th of n, same(a, b) tells whether two
// that follow each other are equal. allocate(groups) is called once they are counted and answers
// what put(memory, group, position) is to fill, for the first of each. [group of each position,
// size of each group], empty where they are not wanted.
template <class At, class Same, class Allocate, class Put>
std::vector<NDArray> group(int64_t n, At at, const Dims& shape, bool wants_inverse,
                           bool wants_counts, Same same, Allocate&& allocate, Put put) {
  const int blocks = n > cpu::kGrain ? cpu::num_threads() : 1;
  auto block = [=](int64_t b) { return n * b / blocks; };
  std::vector<int64_t> before(blocks + 1);  // groups that start before each block
  cpu::parallel_for(blocks, 1, [=, &before](int64_t from, int64_t to) {
    for (int64_t b = from; b < to; ++b) {
      const int64_t begin = block(b), end = block(b + 1);
      int64_t count = begin == 0 && end > 0;
      for (int64_t i = std::max<int64_t>(begin, 1); i < end; ++i) count += !same(at(i - 1), at(i));
      before[b + 1] = count;
    }
  });
  for (int b = 0; b < blocks; ++b) before[b + 1] += before[b];
  const int64_t count = before[blocks];
  char* const memory = allocate(count);
  const NDArray inverse = NDArray::empty(wants_inverse ? shape : Dims{0}, DType::Int64);
  const NDArray counts = NDArray::empty({wants_counts ? count : 0}, DType::Int64);
  int64_t* const groups = wants_inverse ? reinterpret_cast<int64_t*>(inverse.data()) : nullptr;
  int64_t* const sizes = wants_counts ? reinterpret_cast<int64_t*>(counts.data()) : nullptr;
  cpu::parallel_for(blocks, 1, [=, &before](int64_t from, int64_t to) {
    int64_t g = before[from] - 1;
    for (int64_t i = block(from), end = block(to); i < end; ++i) {
      const int64_t position = at(i);
      if (i == 0 || !same(at(i - 1), position)) {
        put(memory, ++g, position);
        if (sizes) sizes[g] = i;
      }
      if (groups) groups[position] = g;
    }
  });
  if (sizes)  // so far where each starts
    for (int64_t g = 0; g < count; ++g) sizes[g] = (g + 1 < count ? sizes[g + 1] : n) - sizes[g];
  return {inverse, counts};
}

struct AsItStands {
  int64_t operator()(int64_t i) const { return i; }
};

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
        const char* const bounds = boundaries.data();
        const char* const places = sorter ? order.data() : nullptr;
        int64_t found[kTogether];
        T value[kTogether];
        for (int64_t i = begin, n; i < end; i += n) {
          const int64_t row = rows == 1 ? 0 : i / each, first = row * size;
          n = std::min<int64_t>({kTogether, end - i, rows == 1 ? end : (row + 1) * each - i});
          for (int64_t k = 0; k < kTogether; ++k)
            value[k] = read<T>(flat.data() + (i + std::min(k, n - 1)) * sizeof(T));
          auto boundary = [=](int64_t place) {
            if (places) place = read<int64_t>(places + 8 * (first + place));
            return read<T>(bounds + (first + place) * sizeof(T));
          };
          if (right)
            count_before(size, found, [&](int k, int64_t b) { return !(boundary(b) > value[k]); });
          else
            count_before(size, found, [&](int k, int64_t b) { return !(boundary(b) >= value[k]); });
          for (int64_t k = 0; k < n; ++k)
            if (int32)
              write<int32_t>(out.data() + 4 * (i + k), static_cast<int32_t>(found[k]));
            else
              write<int64_t>(out.data() + 8 * (i + k), found[k]);
        }
      });
    }
  });
  return out;
}

NDArray isin(const NDArray& x, const NDArray& others, bool invert) {
  if (x.dtype() != others.dtype())
    throw RuntimeError("[isin] expected others of dtype ", x.dtype(), ", got ", others.dtype());
  const NDArray flat = contiguous(x), flat_others = contiguous(others);
  NDArray out = NDArray::empty(x.shape(), DType::Bool);
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Keys<T> keys = keys_of<T>(flat), wanted = keys_of<T>(flat_others);
    const Buffer<Bits<T>> sorted(wanted.n);
    Sorter sorter(wanted.n, cpu::num_threads());
    const WithoutGil unlocked((x.numel() + others.numel()) * kWork > cpu::kGrain);
    const uint64_t* const items = sorter.sort(wanted);
    for (int64_t i = 0; i < wanted.n; ++i) sorted.data()[i] = wanted[position_of(items[i])];
    const Bits<T>* const from = sorted.data();
    cpu::parallel_for(x.numel(), cpu::kGrain / kWork, [&](int64_t begin, int64_t end) {
      int64_t place[kTogether];
      Bits<T> key[kTogether];
      for (int64_t i = begin, n; i < end; i += n) {
        n = std::min<int64_t>(kTogether, end - i);
        for (int64_t k = 0; k < kTogether; ++k) key[k] = keys[i + std::min(k, n - 1)];
        count_before(wanted.n, place, [&](int k, int64_t at) { return from[at] < key[k]; });
        for (int64_t k = 0; k < n; ++k) {
          const bool nan = is_float_type<T> && key[k] == kNanKey<T>;
          const bool found = !nan && place[k] < wanted.n && from[place[k]] == key[k];
          write<bool>(out.data() + i + k, found != invert);
        }
      }
    });
  });
  return out;
}

std::vector<NDArray> unique(const NDArray& x, bool consecutive, bool inverse, bool counts) {
  const NDArray flat = contiguous(x);
  NDArray values = flat;
  std::vector<NDArray> rest;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Keys<T> keys = keys_of<T>(flat);
    const char* const from = flat.data();
    auto value = [=](int64_t i) { return read<T>(from + i * sizeof(T)); };
    auto same = [=](int64_t a, int64_t b) { return equal(value(a), value(b)); };
    auto allocate = [&](int64_t count) {
      values = NDArray::empty({count}, x.dtype());
      return values.data();
    };
    auto put = [=](char* to, int64_t g, int64_t i) { write<T>(to + g * sizeof(T), value(i)); };
    Sorter sorter(consecutive ? 0 : keys.n, cpu::num_threads());
    const WithoutGil unlocked(x.numel() * kWork > cpu::kGrain);
    if (consecutive) {
      rest = group(keys.n, AsItStands{}, x.shape(), inverse, counts, same, allocate, put);
    } else {
      const uint64_t* const order = sorter.sort(keys);
      auto at = [=](int64_t i) { return position_of(order[i]); };
      rest = group(keys.n, at, x.shape(), inverse, counts, same, allocate, put);
    }
  });
  return {values, rest[0], rest[1]};
}

std::vector<NDArray> unique_rows(const NDArray& x, bool consecutive, bool inverse, bool counts) {
  if (x.ndim() != 2) throw RuntimeError("[unique_rows] expected a matrix, got ", x.shape());
  const NDArray rows = contiguous(x);
  const int64_t n = x.shape()[0], width = x.shape()[1];
  NDArray firsts = rows;
  std::vector<NDArray> rest;
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    auto row = [=, from = rows.data()](int64_t i) {
      return Keys<T>{from + i * width * sizeof(T), sizeof(T), width};
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
    auto same = [=](int64_t a, int64_t b) {
      const char *left = row(a).x, *right = row(b).x;
      for (int64_t i = 0; i < width; ++i)
        if (!equal(read<T>(left + i * sizeof(T)), read<T>(right + i * sizeof(T)))) return false;
      return true;
    };
    auto at = [from = consecutive ? nullptr : order.data()](int64_t i) {
      return from ? static_cast<int64_t>(from[i]) : i;
    };
    auto allocate = [&](int64_t count) {
      firsts = NDArray::empty({count}, DType::Int64);
      return firsts.data();
    };
    auto put = [](char* to, int64_t g, int64_t i) { write<int64_t>(to + 8 * g, i); };
    rest = group(n, at, {n}, inverse, counts, same, allocate, put);
  });
  return {firsts, rest[0], rest[1]};
}

}  // namespace tt
