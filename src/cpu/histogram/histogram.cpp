// Counts are integers: threads may each count for themselves. Weights are summed in their order, as
// nothing else would give the same bits each time.
#include "core/tables/histogram.h"

#include <vector>

#include "core/formulas/bins.h"
#include "core/memory/storage.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

// Calls body(begin, end, counts) for parts of n elements, and adds up what they count.
template <class Body>
void count_in_parts(int64_t n, int64_t* counts, int64_t size, const Body& body) {
  const int threads = n > kGrain && size < n / 4 ? num_threads() : 1;
  std::vector<int64_t> others((threads - 1) * size);
  parallel_for(threads, kWhole, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t)
      body(n * t / threads, n * (t + 1) / threads, t ? others.data() + (t - 1) * size : counts);
  });
  for (size_t k = 0; k < others.size(); ++k) counts[k % size] += others[k];
}

void count(const char* x, int64_t n, int64_t* counts, int64_t size) {
  count_in_parts(n, counts, size, [=](int64_t begin, int64_t end, int64_t* to) {
    for (int64_t i = begin; i < end; ++i) ++to[read<int64_t>(x + 8 * i)];
  });
}

template <class T>
void histogram(const HistogramArgs& a) {
  std::vector<T> edges(a.bins + 1);
  std::memcpy(edges.data(), a.edges, edges.size() * sizeof(T));
  const Bins<T> bin{edges.data(), edges.data() + a.bins, a.uniform, a.exact};
  auto at = [](const char* data, int64_t i) { return read<T>(data + i * sizeof(T)); };
  auto finish = [&](const auto& sums) {
    for (int64_t b = 0; b < a.bins; ++b) write<T>(a.out + b * sizeof(T), static_cast<T>(sums[b]));
  };
  if (a.weights) {
    std::vector<double> sums(a.bins);
    for (int64_t i = 0; i < a.n; ++i)
      if (const int64_t b = bin(at(a.x, i)); b >= 0) sums[b] += at(a.weights, i);
    return finish(sums);
  }
  std::vector<int64_t> counts(a.bins);
  count_in_parts(a.n, counts.data(), a.bins, [&](int64_t begin, int64_t end, int64_t* to) {
    for (int64_t i = begin; i < end; ++i)
      if (const int64_t b = bin(at(a.x, i)); b >= 0) ++to[b];
  });
  finish(counts);
}

void run_histogram(const HistogramArgs& a) {
  a.dtype == DType::Float32 ? histogram<float>(a) : histogram<double>(a);
}

}  // namespace

extern const HistogramTable histogram_table = {count, run_histogram};

}  // namespace tt::cpu
