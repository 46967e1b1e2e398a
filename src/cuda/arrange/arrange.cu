// Copies in another order: reversed, one triangle of each matrix, repeated. One element of the
// result per thread.
#include "core/dtypes/with_type.h"
#include "core/tables/arrange.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/prefix.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

template <class T>
__global__ void copy_element(const T* x, T* out, const Positions<2> positions,
                             const int64_t numel) {
  const int64_t i = thread_index();
  if (i < numel) out[positions.offset(1, i)] = x[positions.offset(0, i)];
}

void copy_reversed(const char* x, char* out, const Dims& shape, const Dims& x_strides,
                   const Dims& out_strides, int64_t item) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  with_size(item, [&](auto type) {
    using T = decltype(type);
    launch<copy_element<T>>(grid_of(numel), reinterpret_cast<const T*>(x),
                            reinterpret_cast<T*>(out),
                            positions_of(shape, {&x_strides, &out_strides}), numel);
  });
}

// x may be out.
template <class T>
__global__ void keep_triangle(const T* x, T* out, const int64_t numel, const int64_t rows,
                              const int64_t columns, const int64_t diagonal, const bool lower) {
  const int64_t i = thread_index();
  if (i >= numel) return;
  const int64_t column = i % columns, row = i / columns % rows;
  const bool kept = lower ? column - row <= diagonal : column - row >= diagonal;
  out[i] = kept ? x[i] : T{};
}

void triangle(const char* x, char* out, int64_t matrices, int64_t rows, int64_t columns,
              int64_t diagonal, bool lower, int64_t item) {
  const int64_t numel = matrices * rows * columns;
  with_size(item, [&](auto type) {
    using T = decltype(type);
    launch<keep_triangle<T>>(grid_of(numel), reinterpret_cast<const T*>(x),
                             reinterpret_cast<T*>(out), numel, rows, columns, diagonal, lower);
  });
}

// Sums of counts; one that overflows is kOverflow, and stays so.
constexpr int64_t kOverflow = -2;
__device__ int64_t sum_of_counts(int64_t a, int64_t b) {
  if (a < 0 || b < 0 || a > INT64_MAX - b) return kOverflow;
  return a + b;
}

// By one block. What comes first, a negative count or an overflow, is thrown; so only the counts up
// to the first negative one are summed.
__global__ void sum_counts(const int64_t* counts, const int64_t step, const int64_t size,
                           int64_t* total) {
  int64_t negative = size;
  for (int64_t k = threadIdx.x; k < size; k += kThreads)
    if (counts[k * step] < 0 && k < negative) negative = k;
  negative = of_block(negative, [](int64_t a, int64_t b) { return a < b ? a : b; });
  int64_t sum = 0;
  for (int64_t k = threadIdx.x; k < negative; k += kThreads)
    sum = sum_of_counts(sum, counts[k * step]);
  sum = of_block(sum, sum_of_counts);
  if (threadIdx.x == 0) *total = sum >= 0 && negative < size ? -1 : sum;
}

int64_t total_count(const int64_t* counts, int64_t step, int64_t size) {
  const Scratch<int64_t> total(1);
  launch<sum_counts>({1, kThreads}, counts, step, size, total.data());
  return total.fetch();
}

// ends[k + 1]: where the repetitions of k end. Each element looks for the k whose they are.
__global__ void repeat_positions(const int64_t* ends, const int64_t size, int64_t* out,
                                 const int64_t numel) {
  const int64_t i = thread_index();
  if (i >= numel) return;
  int64_t low = 0, high = size;  // ends[low] <= i < ends[high]
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (ends[middle] <= i ? low : high) = middle;
  }
  out[i] = low;
}

void repeat(const int64_t* counts, int64_t step, int64_t size, int64_t* out) {
  const Scratch<int64_t> ends(size + 1);
  add_up(counts, step, size, ends.data());
  const int64_t numel = ends.fetch(size);
  launch<repeat_positions>(grid_of(numel), ends.data(), size, out, numel);
}

}  // namespace

const ArrangeTable arrange_table = {copy_reversed, triangle, total_count, repeat};

}  // namespace tt::cuda
