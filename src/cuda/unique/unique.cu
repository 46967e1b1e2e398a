// Finding elements, or rows, that occur again: in order, equal ones are neighbours. Each that
// differs from the one before it starts a group, and its number is how many start before it.
#include "core/tables/unique.h"
#include "cuda/infra/prefix.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

// The order of single elements: at(i) is the position of the i-th, and starts(i) tells whether it
// differs from the one before it. items: null for the order in which they stand.
template <class Key>
struct Elements {
  const char* x;
  DType dtype;
  const Item<Key>* items;

  __device__ int64_t at(int64_t i) const {
    return items ? static_cast<int64_t>(items[i].position) : i;
  }
  __device__ Key key(int64_t i) const {
    return items ? items[i].key : load_key<Key>(x + i * itemsize(dtype), dtype);
  }
  __device__ bool starts(int64_t i) const {
    if (i == 0) return true;
    const bool nan = is_floating(dtype) && key(i) == kLargestKey<Key>;  // equals nothing
    return nan || key(i - 1) != key(i);
  }
};

// Rows of a matrix, `width` elements each; as a comparison it puts them in order.
template <class Key>
struct Rows {
  const char* x;
  DType dtype;
  int64_t width;
  const int64_t* order;  // null for the order in which they stand

  __device__ int64_t at(int64_t i) const { return order ? order[i] : i; }
  __device__ Key key(int64_t row, int64_t k) const {
    return load_key<Key>(x + (row * width + k) * itemsize(dtype), dtype);
  }
  __device__ bool starts(int64_t i) const {
    if (i == 0) return true;
    for (int64_t k = 0; k < width; ++k) {
      const Key own = key(at(i), k);
      const bool nan = is_floating(dtype) && own == kLargestKey<Key>;  // equals nothing
      if (nan || key(at(i - 1), k) != own) return true;
    }
    return false;
  }
  // Equal rows stay in their order.
  __device__ bool operator()(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < width; ++k) {
      const Key of_a = key(a, k), of_b = key(b, k);
      if (of_a != of_b) return of_a < of_b;
    }
    return a < b;
  }
};

template <class Order>
__global__ void mark_starts(const Order order, const int64_t n, char* flags) {
  const int64_t i = thread_index();
  if (i < n) flags[i] = order.starts(i);
}

// begins: where each group starts in order. positions: of the first of each.
template <class Order>
__global__ void number_groups(const MaskArgs flags, const Order order, int64_t* begins,
                              int64_t* positions, int64_t* inverse) {
  for_each_flag(flags, [&](int64_t i, bool starts, int64_t before) {
    const int64_t position = order.at(i);
    if (starts) {
      begins[before] = i;
      positions[before] = position;
    }
    if (inverse) inverse[position] = starts ? before : before - 1;
  });
}

__global__ void measure_groups(const int64_t* begins, const int64_t groups, const int64_t n,
                               int64_t* sizes) {
  const int64_t g = thread_index();
  if (g < groups) sizes[g] = (g + 1 < groups ? begins[g + 1] : n) - begins[g];
}

__global__ void take(const char* x, const DType dtype, const int64_t* positions,
                     const int64_t groups, char* out) {
  const int64_t g = thread_index(), item = itemsize(dtype);
  if (g < groups) copy_element(out + g * item, x + positions[g] * item, dtype);
}

// Answers how many groups there are; positions: of the first of each.
template <class Order>
int64_t group(const UniqueArgs& args, const Order& order, int64_t* positions) {
  const int64_t n = args.rows;
  const Scratch<char> flags(n);
  const Scratch<int64_t> starts((n + kMaskBlock - 1) / kMaskBlock + 1), begins(n);
  launch<mark_starts<Order>>(grid_of(n), order, n, flags.data());
  const MaskArgs marked = {flags.data(), n, starts.data()};
  const int64_t groups = count_flags(marked);
  launch<number_groups<Order>>({flag_blocks(marked), kThreads}, marked, order, begins.data(),
                               positions, args.inverse);
  if (args.sizes) launch<measure_groups>(grid_of(groups), begins.data(), groups, n, args.sizes);
  return groups;
}

int64_t unique(const UniqueArgs& args) {
  int64_t groups = 0;
  const Scratch<int64_t> positions(args.rows);
  with_key(args.dtype, [&](auto type) {
    using Key = decltype(type);
    const Sorted<Key> sorted(lines_of(args.x, args.dtype, 1, args.consecutive ? 0 : args.rows),
                             false);
    groups = group(args, Elements<Key>{args.x, args.dtype, sorted.items()}, positions.data());
  });
  launch<take>(grid_of(groups), args.x, args.dtype, positions.data(), groups, args.first);
  return groups;
}

__global__ void count(int64_t* out, const int64_t n) {
  const int64_t i = thread_index();
  if (i < n) out[i] = i;
}

int64_t unique_rows(const UniqueArgs& args) {
  int64_t groups = 0;
  const int64_t n = args.consecutive ? 0 : args.rows;  // rows to sort
  const Scratch<int64_t> order(n), other(n);
  launch<count>(grid_of(n), order.data(), n);
  with_key(args.dtype, [&](auto type) {
    Rows<decltype(type)> rows{args.x, args.dtype, args.width, nullptr};
    rows.order = merge_all(order.data(), other.data(), n, n, 1, rows);
    groups = group(args, rows, reinterpret_cast<int64_t*>(args.first));
  });
  return groups;
}

}  // namespace

const UniqueTable unique_table = {unique, unique_rows};

}  // namespace tt::cuda
