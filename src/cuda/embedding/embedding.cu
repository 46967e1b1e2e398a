// Embeddings: bags of rows of a table, and the table's gradient.
//
// Forward has a thread per element of a bag. The gradient of a row is the sum of what its entries
// got, which are anywhere among all: sorted by row they are neighbours, and a block adds them in
// their order. So no two threads add to one element, the bits are the same in every run, and rows
// without an entry cost no more than their zeros.
#include "core/tables/embedding.h"
#include "cuda/infra/faults.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

template <class T>
__device__ T element(const BagArgs& a, const char* data, int64_t index) {
  return load_as<T>(data + index * int64_t(itemsize(a.dtype)), a.dtype);
}
template <class T>
__device__ void set_element(const BagArgs& a, char* data, int64_t index, T value) {
  store_as<T>(data + index * int64_t(itemsize(a.dtype)), a.dtype, value);
}

// Calls see(entry, its element of a column) for what counts in a bag.
template <class T, class See>
__device__ void for_each_of_bag(const BagArgs& a, int64_t bag, int64_t column, const See& see) {
  for (int64_t k = a.start(bag); k < a.start(bag + 1); ++k) {
    if (a.index[k] == a.padding || !is_inside(a.index[k], a.rows)) continue;
    see(k, element<T>(a, a.table, a.index[k] * a.table_row + column * a.table_column));
  }
}

// ---- forward: a thread per (bag, column) --------------------------------------------------------

template <class T>
__global__ void sum_of_bag(const BagArgs a) {
  const int64_t index = thread_index();
  if (index >= a.bags * a.columns) return;
  const int64_t bag = index / a.columns, column = index % a.columns;
  T sum = 0;
  int64_t count = 0;
  for_each_of_bag<T>(a, bag, column, [&](int64_t k, T x) {
    sum += a.weights ? x * element<T>(a, a.weights, k) : x;
    ++count;
  });
  if (a.mode == Bag::Mean && count > 0) sum /= static_cast<T>(count);
  set_element(a, a.out, bag * a.out_row + column, sum);
}

// An empty bag answers 0, from no row.
template <class T>
__global__ void max_of_bag(const BagArgs a) {
  const int64_t index = thread_index();
  if (index >= a.bags * a.columns) return;
  const int64_t bag = index / a.columns, column = index % a.columns;
  T peak = 0;
  int64_t row = -1;
  for_each_of_bag<T>(a, bag, column, [&](int64_t k, T x) {
    if (row >= 0 && !(x > peak)) return;
    peak = x;
    row = a.index[k];
  });
  a.largest[index] = row;
  set_element(a, a.out, bag * a.out_row + column, peak);
}

// ---- backward -----------------------------------------------------------------------------------

// What each entry of a bag gets of the bag's gradient, its own weight aside.
template <class T>
__global__ void shares_of_bags(const BagArgs a, T* const shares) {
  const int64_t bag = thread_index();
  if (bag >= a.bags) return;
  shares[bag] = a.mode == Bag::Mean ? 1 / static_cast<T>(a.entries_that_count(bag)) : T(1);
}

// The bag of an entry: the last one that starts at it or before.
__device__ int64_t bag_of(const BagArgs& a, int64_t entry) {
  if (!a.starts) return entry;
  int64_t low = 0, high = a.bags;  // starts[low] <= entry < starts[high]
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (a.starts[middle] <= entry ? low : high) = middle;
  }
  return low;
}

template <class T>
__global__ void clear(const BagArgs a) {
  const int64_t i = thread_index();
  if (i < a.rows * a.columns) set_element(a, a.table, i, T(0));
}

// A block per entry, in the order of their rows: the first one of a row adds up all of that row,
// one after the other, and the others have nothing to do. Threads have columns.
template <class T>
__global__ void gradient_of_row(const BagArgs a, const Item<uint64_t>* const sorted,
                                const T* const shares) {
  constexpr int kColumns = 4;  // of a thread at a time
  const int64_t first = blockIdx.x;
  const uint64_t key = sorted[first].key;
  const auto is_same = [&](int64_t i) { return i < a.entries && sorted[i].key == key; };
  if (first > 0 && is_same(first - 1)) return;
  const int64_t row = a.index[sorted[first].position];
  if (row == a.padding || !is_inside(row, a.rows)) return;
  T frequency = 1;
  if (a.by_frequency) {
    int64_t end = first;
    while (is_same(end)) ++end;
    frequency = static_cast<T>(end - first);
  }
  char* const to = a.table + row * a.columns * int64_t(itemsize(a.dtype));
  for (int64_t column = threadIdx.x; column < a.columns; column += kColumns * kThreads) {
    T sums[kColumns];
    TT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const int64_t j = column + c * kThreads;
      sums[c] = a.accumulate && j < a.columns ? element<T>(a, to, j) : T(0);
    }
    for (int64_t i = first; is_same(i); ++i) {
      const int64_t entry = sorted[i].position, bag = bag_of(a, entry);
      T factor = shares[bag];
      if (a.by_frequency) factor /= frequency;
      if (a.weights) factor *= element<T>(a, a.weights, entry);
      TT_UNROLL
      for (int c = 0; c < kColumns; ++c)
        if (const int64_t j = column + c * kThreads; j < a.columns)
          sums[c] += element<T>(a, a.out, bag * a.out_row + j) * factor;
    }
    TT_UNROLL
    for (int c = 0; c < kColumns; ++c)
      if (const int64_t j = column + c * kThreads; j < a.columns) set_element(a, to, j, sums[c]);
  }
}

// A thread per column, which alone adds to that column of the table. The sums of halves stand in
// `sums`, a T for each element of the table, until they are rounded.
template <class T>
__global__ void gradient_of_largest(const BagArgs a, T* const sums) {
  const int64_t column = thread_index();
  if (column >= a.columns) return;
  const auto sum_at = [&](int64_t i) { return sums ? sums[i] : element<T>(a, a.table, i); };
  const auto set_sum = [&](int64_t i, T sum) {
    sums ? void(sums[i] = sum) : set_element(a, a.table, i, sum);
  };
  for (int64_t row = 0; row < a.rows; ++row) {
    const int64_t i = row * a.columns + column;
    if (sums || !a.accumulate) set_sum(i, a.accumulate ? element<T>(a, a.table, i) : T(0));
  }
  for (int64_t bag = 0; bag < a.bags; ++bag) {
    const int64_t row = a.largest[bag * a.columns + column];
    if (row < 0) continue;
    const int64_t i = row * a.columns + column;
    set_sum(i, sum_at(i) + element<T>(a, a.out, bag * a.out_row + column));
  }
  for (int64_t row = 0; sums && row < a.rows; ++row)
    set_element(a, a.table, row * a.columns + column, sums[row * a.columns + column]);
}

template <class T>
void forward(const BagArgs& a) {
  const Grid grid = grid_of(a.bags * a.columns);
  a.mode == Bag::Max ? launch<max_of_bag<T>>(grid, a) : launch<sum_of_bag<T>>(grid, a);
}

template <class T>
void backward(const BagArgs& a) {
  if (a.largest) {
    const Scratch<T> sums(is_half(a.dtype) ? a.rows * a.columns : 0);
    return launch<gradient_of_largest<T>>(grid_of(a.columns), a,
                                          is_half(a.dtype) ? sums.data() : nullptr);
  }
  if (!a.accumulate) launch<clear<T>>(grid_of(a.rows * a.columns), a);
  if (a.bags == 0) return;  // no entry is in one
  const Scratch<T> shares(a.bags);
  launch<shares_of_bags<T>>(grid_of(a.bags), a, shares.data());
  const Sorted<uint64_t> sorted(lines_of(a.index, DType::Int64, 1, a.entries),
                                /*descending=*/false);
  launch<gradient_of_row<T>>({a.entries, kThreads}, a, sorted.items(), shares.data());
}

void bag_forward(const BagArgs& a) {
  a.dtype == DType::Float64 ? forward<double>(a) : forward<float>(a);
}
void bag_backward(const BagArgs& a) {
  a.dtype == DType::Float64 ? backward<double>(a) : backward<float>(a);
}

// ---- bags ---------------------------------------------------------------------------------------

// Copies the offsets, none of them outside, and notes what is wrong with them or with an index.
__global__ void find_starts(const BagStartArgs a, Fault* const wrong) {
  const int64_t i = thread_index();
  const auto offset = [&](int64_t bag) { return bag < a.bags ? a.offsets[bag] : a.entries; };
  if (i < a.entries && !is_inside(a.index[i], a.rows)) tell(wrong, a.index[i], a.rows);
  if (i > a.bags) return;
  a.starts[i] = is_inside(offset(i), a.entries) ? offset(i) : a.entries;
  if (i < a.bags && (offset(i) > offset(i + 1) || (i == 0 && offset(0) != 0)))
    tell(wrong, offset(i), i == 0 ? 1 : offset(i + 1));
}

bool bag_starts(const BagStartArgs& a) {
  const Faults wrong(Check::Bags);
  const int64_t most = a.entries > a.bags ? a.entries : a.bags + 1;
  launch<find_starts>(grid_of(most), a, wrong.found());
  return wrong.none();
}

}  // namespace

const EmbeddingTable embedding_table = {bag_forward, bag_backward, bag_starts};

}  // namespace tt::cuda
