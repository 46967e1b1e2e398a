// Counting elements by where they lie. Counts are integers, which atomics add up in any order; the
// weights of a bin are summed by a block of its own, which looks at all elements, so that the sum
// has the same bits each time.
#include "core/bins.h"
#include "core/tables/histogram.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

using Count = unsigned long long;  // what CUDA's atomics add

__global__ void count_elements(const int64_t* const x, const int64_t n, Count* const counts) {
  const int64_t i = thread_index();
  if (i < n) atomicAdd(&counts[x[i]], Count{1});
}
void count(const char* x, int64_t n, int64_t* counts, int64_t) {
  launch<count_elements>(grid_of(n), reinterpret_cast<const int64_t*>(x), n,
                         reinterpret_cast<Count*>(counts));
}

template <class T>
__global__ void find_bins(const Bins<T> bins, const T* const x, const int64_t n,
                          int64_t* const found) {
  const int64_t i = thread_index();
  if (i < n) found[i] = bins(x[i]);
}

// out[b] = how many elements are in bin b, or the sum of their weights.
template <class T>
__global__ void add_bin(const int64_t* const found, const T* const weights, const int64_t n,
                        T* const out) {
  const int64_t bin = blockIdx.x;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads)
    if (found[i] == bin) sum += weights ? static_cast<double>(weights[i]) : 1.0;
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[bin] = static_cast<T>(sum);
}

template <class T>
void histogram_as(const HistogramArgs& a) {
  const Scratch<int64_t> found(a.n);
  const T* const edges = numbers<T>(a.edges);
  launch<find_bins<T>>(grid_of(a.n), Bins<T>{edges, edges + a.bins, a.uniform, a.exact},
                       numbers<T>(a.x), a.n, found.data());
  launch<add_bin<T>>({a.bins, kThreads}, found.data(), numbers<T>(a.weights), a.n,
                     numbers<T>(a.out));
}
void histogram(const HistogramArgs& a) {
  a.dtype == DType::Float32 ? histogram_as<float>(a) : histogram_as<double>(a);
}

}  // namespace

const HistogramTable histogram_table = {count, histogram};

}  // namespace tt::cuda
