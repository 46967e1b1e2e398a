// Counting elements by where they lie. Counts are integers, which atomics add up in any order: a
// block counts in shared memory, and adds what it has found to the counts of all. Sums of weights
// have the same bits each time: of few bins each thread has sums of its own in shared memory; else
// weights are sorted by their bins, and a block adds up those of a bin.
#include "core/formulas/bins.h"
#include "core/tables/histogram.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

using Count = unsigned long long;  // what CUDA's atomics add

constexpr int64_t kEach = 64;      // elements of a thread
constexpr int64_t kShared = 4096;  // counts that a block has room for

// bin(i): of element i, or -1.
template <class Bin>
__global__ void count_elements(const Bin bin, const int64_t n, const int64_t bins,
                               Count* const counts) {
  __shared__ unsigned own[kShared];
  const int64_t shared = bins <= kShared ? bins : 0;
  for (int64_t b = threadIdx.x; b < shared; b += kThreads) own[b] = 0;
  __syncthreads();
  const int64_t first = int64_t{blockIdx.x} * kEach * kThreads + threadIdx.x;
  for (int64_t i = first; i < n && i < first + kEach * kThreads; i += kThreads) {
    const int64_t b = bin(i);
    if (b < 0) continue;
    if (shared)
      atomicAdd(&own[b], 1u);
    else
      atomicAdd(&counts[b], Count{1});
  }
  __syncthreads();
  for (int64_t b = threadIdx.x; b < shared; b += kThreads)
    if (own[b]) atomicAdd(&counts[b], Count{own[b]});
}

struct Own {
  const int64_t* x;
  __device__ int64_t operator()(int64_t i) const { return x[i]; }
};
void count(const char* x, int64_t n, int64_t* counts, int64_t size) {
  launch<count_elements<Own>>(grid_of(n, kEach), Own{numbers<int64_t>(x)}, n, size,
                              reinterpret_cast<Count*>(counts));
}

template <class T>
struct Found {
  Bins<T> bins;
  const T* x;
  __device__ int64_t operator()(int64_t i) const { return bins(x[i]); }
};

__global__ void clear(Count* const counts, const int64_t bins) {
  if (const int64_t b = thread_index(); b < bins) counts[b] = 0;
}
template <class T>
__global__ void convert(const Count* const counts, const int64_t bins, T* const out) {
  if (const int64_t b = thread_index(); b < bins) out[b] = static_cast<T>(counts[b]);
}

constexpr int kAdders = 64;   // threads of a block that adds weights
constexpr int64_t kFew = 96;  // bins of which each of them has a sum: 48 KiB

// parts (bins, blocks): the sums of the weights that a block finds in each bin.
template <class T>
__global__ void add_weights(const Found<T> bin, const T* const weights, const int64_t n,
                            const int64_t bins, double* const parts) {
  double* const own = dynamic_shared<double>();  // (bins, threads)
  const int64_t me = threadIdx.x, first = int64_t{blockIdx.x} * kEach * kAdders + me;
  for (int64_t b = 0; b < bins; ++b) own[b * kAdders + me] = 0;
  for (int64_t i = first; i < n && i < first + kEach * kAdders; i += kAdders)
    if (const int64_t b = bin(i); b >= 0) own[b * kAdders + me] += static_cast<double>(weights[i]);
  __syncthreads();
  for (int64_t b = me; b < bins; b += kAdders) {
    double sum = 0;
    for (int64_t k = 0; k < kAdders; ++k)  // from another bank than its neighbours'
      sum += own[b * kAdders + (me + k) % kAdders];
    parts[b * gridDim.x + blockIdx.x] = sum;
  }
}
template <class T>
__global__ void add_blocks(const double* const parts, const int64_t blocks, T* const out) {
  double sum = 0;
  for (int64_t k = threadIdx.x; k < blocks; k += kThreads) sum += parts[blockIdx.x * blocks + k];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(sum);
}

template <class T>
__global__ void find_bins(const Found<T> bin, const int64_t n, int64_t* const found) {
  if (const int64_t i = thread_index(); i < n) found[i] = bin(i);
}
// out[b] = the sum of the weights in bin b, whose elements are neighbours.
template <class T>
__global__ void add_bin(const Item<uint64_t>* const sorted, const T* const weights, const int64_t n,
                        T* const out) {
  const int64_t bin = blockIdx.x;
  const auto first_of = [&](int64_t bin) {
    const uint64_t key = key_of<uint64_t>(bin);
    return count_less(n, [&](int64_t i) { return sorted[i].key < key; });
  };
  const int64_t end = first_of(bin + 1);
  double sum = 0;
  for (int64_t i = first_of(bin) + threadIdx.x; i < end; i += kThreads)
    sum += static_cast<double>(weights[sorted[i].position]);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[bin] = static_cast<T>(sum);
}

template <class T>
void histogram_as(const HistogramArgs& a) {
  const T* const edges = numbers<T>(a.edges);
  const Found<T> bin{{edges, edges + a.bins, a.uniform, a.exact}, numbers<T>(a.x)};
  if (!a.weights) {
    const Scratch<Count> counts(a.bins);
    launch<clear>(grid_of(a.bins), counts.data(), a.bins);
    launch<count_elements<Found<T>>>(grid_of(a.n, kEach), bin, a.n, a.bins, counts.data());
    return launch<convert<T>>(grid_of(a.bins), counts.data(), a.bins, numbers<T>(a.out));
  }
  const T* const weights = numbers<T>(a.weights);
  if (a.bins <= kFew) {
    const int64_t blocks = ceil_div(a.n, kEach * kAdders);
    const Scratch<double> parts(a.bins * blocks);
    launch<add_weights<T>>({blocks, kAdders, a.bins * kAdders * sizeof(double)}, bin, weights, a.n,
                           a.bins, parts.data());
    return launch<add_blocks<T>>({a.bins, kThreads}, parts.data(), blocks, numbers<T>(a.out));
  }
  const Scratch<int64_t> found(a.n);
  launch<find_bins<T>>(grid_of(a.n), bin, a.n, found.data());
  const Sorted<uint64_t> sorted(lines_of(found.data(), DType::Int64, 1, a.n), /*descending=*/false);
  launch<add_bin<T>>({a.bins, kThreads}, sorted.items(), weights, a.n, numbers<T>(a.out));
}
void histogram(const HistogramArgs& a) {
  a.dtype == DType::Float32 ? histogram_as<float>(a) : histogram_as<double>(a);
}

}  // namespace

const HistogramTable histogram_table = {count, histogram};

}  // namespace tt::cuda
