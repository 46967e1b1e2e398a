#include "core/api/histogram.h"

#include <algorithm>
#include <vector>

#include "core/api/copy.h"
#include "core/gil.h"
#include "core/with_type.h"
#include "cpu/parallel.h"

namespace tt {

namespace {

constexpr const char* kOnlyCounts = "bincount only supports 1-d non-negative integral inputs.";

// In the order of the elements, as nothing else would give the same bits each time.
template <class T>
NDArray sum_by_number(const NDArray& numbers, const NDArray& weights, int64_t size, DType dtype) {
  NDArray out = full({size}, Scalar::of_double(0), dtype);
  T* const sums = reinterpret_cast<T*>(out.data());
  for (int64_t i = 0; i < numbers.numel(); ++i)
    sums[read<int64_t>(numbers.data() + 8 * i)] += read<T>(weights.data() + i * sizeof(T));
  return out;
}

}  // namespace

NDArray bincount(const NDArray& x, const NDArray* weights, int64_t minlength) {
  if (minlength < 0) throw RuntimeError("minlength should be >= 0");
  if (x.ndim() == 1 && x.numel() == 0) return full({minlength}, Scalar::of_int(0), DType::Int64);
  if (x.ndim() != 1) throw RuntimeError(kOnlyCounts);
  if (category(x.dtype()) != Category::Int)
    throw NotImplementedError("[bincount] is not implemented for ", x.dtype(), " on cpu");
  if (weights && weights->shape() != x.shape())
    throw RuntimeError("weights should be 1-d and have the same length as input");
  const NDArray numbers = contiguous(converted(x, DType::Int64));
  const int64_t n = numbers.numel();
  const char* const from = numbers.data();
  const int threads = n > cpu::kGrain ? cpu::num_threads() : 1;
  const WithoutGil unlocked(n > cpu::kGrain);
  // body(thread, begin, end): its share of the elements.
  auto for_each = [=](auto&& body) {
    cpu::parallel_for(threads, 1, [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) body(t, n * t / threads, n * (t + 1) / threads);
    });
  };
  std::vector<int64_t> lowest(threads), highest(threads);
  for_each([&](int64_t t, int64_t begin, int64_t end) {
    int64_t low = 0, high = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t number = read<int64_t>(from + 8 * i);
      low = std::min(low, number);
      high = std::max(high, number);
    }
    lowest[t] = low, highest[t] = high;
  });
  const int64_t low = *std::min_element(lowest.begin(), lowest.end());
  const int64_t high = *std::max_element(highest.begin(), highest.end());
  if (low < 0) throw RuntimeError(kOnlyCounts);
  const int64_t size = std::max(high + 1, minlength);
  if (weights) {
    if (weights->dtype() == DType::Float32)
      return sum_by_number<float>(numbers, contiguous(*weights), size, DType::Float32);
    const NDArray wide = contiguous(converted(*weights, DType::Float64));
    return sum_by_number<double>(numbers, wide, size, DType::Float64);
  }
  NDArray out = full({size}, Scalar::of_int(0), DType::Int64);
  int64_t* const counts = reinterpret_cast<int64_t*>(out.data());
  auto count = [=](int64_t* to, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++to[read<int64_t>(from + 8 * i)];
  };
  if (size > n / 4) {
    count(counts, 0, n);
    return out;
  }
  std::vector<int64_t> others((threads - 1) * size);  // each thread counts for itself
  for_each([&](int64_t t, int64_t begin, int64_t end) {
    count(t ? others.data() + (t - 1) * size : counts, begin, end);
  });
  for (size_t k = 0; k < others.size(); ++k) counts[k % size] += others[k];
  return out;
}

NDArray histogram(const NDArray& x, const NDArray& edges_in, const NDArray* weights, bool uniform,
                  bool exact) {
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    throw NotImplementedError("[histogram] is not implemented for ", x.dtype(), " on cpu");
  if (edges_in.dtype() != x.dtype() || (weights && weights->dtype() != x.dtype()))
    throw RuntimeError("[histogram] expected edges and weights of dtype ", x.dtype());
  if (edges_in.ndim() != 1 || edges_in.numel() < 2)
    throw RuntimeError("[histogram] expected at least two edges, got ", edges_in.shape());
  if (weights && weights->numel() != x.numel())
    throw RuntimeError("[histogram] expected as many weights as elements, got ", weights->numel(),
                       " and ", x.numel());
  const NDArray flat = contiguous(x), edge_values = contiguous(edges_in);
  const int64_t n = x.numel(), bins = edge_values.numel() - 1;
  NDArray out = NDArray::empty({bins}, x.dtype());
  with_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> edges(bins + 1);
      for (int64_t i = 0; i <= bins; ++i) edges[i] = read<T>(edge_values.data() + i * sizeof(T));
      const T left = edges[0], right = edges[bins];
      // The bin of an element, -1 outside.
      auto bin = [&](T value) -> int64_t {
        if (!(value >= left && value <= right)) return -1;
        auto from = edges.begin(), to = edges.end();
        if (uniform) {
          // Overflow, and bins without a width, end in the last one.
          const T position = (value - left) * bins / (right - left);
          const int64_t guess = position < bins ? static_cast<int64_t>(position) : bins - 1;
          if (!exact) return guess;
          from += std::max<int64_t>(guess - 1, 0);
          to = edges.begin() + std::min(guess + 2, bins + 1);
        }
        return std::min(std::upper_bound(from, to, value) - edges.begin() - 1, bins - 1);
      };
      auto value = [&](int64_t i) { return read<T>(flat.data() + i * sizeof(T)); };
      T* const result = reinterpret_cast<T*>(out.data());
      if (weights) {  // in their order, in float64
        const NDArray weight = contiguous(*weights);
        std::vector<double> sums(bins);
        for (int64_t i = 0; i < n; ++i)
          if (const int64_t b = bin(value(i)); b >= 0)
            sums[b] += read<T>(weight.data() + i * sizeof(T));
        std::copy(sums.begin(), sums.end(), result);
        return;
      }
      // Counts are integers: threads may each count for themselves.
      const int threads = n > cpu::kGrain && bins < n ? cpu::num_threads() : 1;
      std::vector<int64_t> counts(threads * bins);
      const WithoutGil unlocked(n > cpu::kGrain);
      cpu::parallel_for(threads, 1, [&](int64_t first, int64_t last) {
        for (int64_t t = first; t < last; ++t)
          for (int64_t i = n * t / threads; i < n * (t + 1) / threads; ++i)
            if (const int64_t b = bin(value(i)); b >= 0) ++counts[t * bins + b];
      });
      for (int64_t b = 0; b < bins; ++b) {
        int64_t count = 0;
        for (int t = 0; t < threads; ++t) count += counts[t * bins + b];
        result[b] = static_cast<T>(count);
      }
    }
  });
  return out;
}

}  // namespace tt
