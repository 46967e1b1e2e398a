// Gather and scatter: elements at given positions along one dim, and offsets of several indices.
//
// What writes to x is sorted by position first (sort/order.h): then the writes to one element are
// neighbours, in the order of the index, and one thread does them all.
#include "core/dtypes/with_type.h"
#include "core/formulas/wrapping.h"
#include "core/tables/gather.h"
#include "cuda/infra/faults.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

enum Array { kX, kOther, kIndex };

// AlongArgs by value.
struct Along {
  Positions<3> lines;
  int64_t line_count, count, other_step, index_step, size, stride;
  bool wraps, lines_inside;
  char *x, *other;
  const int64_t* index;

  // Element `index` of all, line by line or, where these lie closer together, across them.
  __device__ int64_t line(int64_t i) const { return lines_inside ? i % line_count : i / count; }
  __device__ int64_t place(int64_t i) const { return lines_inside ? i / line_count : i % count; }

  // May be outside.
  __device__ int64_t position(int64_t line, int64_t k) const {
    const int64_t p = index[lines.offset(kIndex, line) + k * index_step];
    return wraps && p < 0 ? p + size : p;
  }
  template <class T>
  __device__ T& x_at(int64_t line, int64_t p) const {
    return reinterpret_cast<T*>(x)[lines.offset(kX, line) + p * stride];
  }
  template <class T>
  __device__ T& other_at(int64_t line, int64_t k) const {
    return reinterpret_cast<T*>(other)[lines.offset(kOther, line) + k * other_step];
  }
};

Along on_device(const AlongArgs& args) {
  const bool lines_inside = !args.lines.empty() && args.other_lines.back() < args.other_step;
  return {positions_of(args.lines, {&args.x_lines, &args.other_lines, &args.index_lines}),
          product(args.lines),
          args.count,
          args.other_step,
          args.index_step,
          args.size,
          args.stride,
          args.wraps,
          lines_inside,
          args.x,
          args.other,
          reinterpret_cast<const int64_t*>(args.index)};
}

// ---- pick: an element per thread ----------------------------------------------------------------
template <class T>
__global__ void pick_elements(const Along a, Fault* outside) {
  const int64_t i = thread_index();
  if (i >= a.line_count * a.count) return;
  const int64_t line = a.line(i), k = a.place(i), p = a.position(line, k);
  const bool fine = is_inside(p, a.size);
  a.other_at<T>(line, k) = fine ? a.x_at<T>(line, p) : T{};
  if (!fine) tell(outside, p, a.size);
}

bool pick(const AlongArgs& args) {
  const Faults outside(Check::Gather);
  const Along a = on_device(args);
  with_size(itemsize(args.dtype), [&](auto type) {
    launch<pick_elements<decltype(type)>>(grid_of(a.line_count * a.count), a, outside.found());
  });
  return outside.none();
}

// ---- positions ----------------------------------------------------------------------------------
// Lines of the index: one, where all share it.
int64_t index_lines(const AlongArgs& args) {
  const int64_t lines = product(args.lines);
  for (int d = 0; d < args.lines.size(); ++d)
    if (args.index_lines[d] != 0 && args.lines[d] != 1) return lines;
  return std::min<int64_t>(lines, 1);
}

// Finds `total` positions, line by line. `found`: null, or where they go.
__global__ void find_positions(const Along a, const int64_t total, int64_t* found, Fault* outside) {
  const int64_t i = thread_index();
  if (i >= total) return;
  const int64_t p = a.position(i / a.count, i % a.count);
  if (found) found[i] = p;
  if (!is_inside(p, a.size)) tell(outside, p, a.size);
}

bool inside(const AlongArgs& args) {
  const Faults outside(Check::Gather);
  const int64_t lines = index_lines(args), total = lines * args.count;
  launch<find_positions>(grid_of(total), on_device(args), total, nullptr, outside.found());
  return outside.none();
}

__global__ void add_offsets(int64_t* offsets, const bool first, const Positions<1> positions,
                            const int64_t numel, const int64_t* index, const int64_t size,
                            const int64_t stride, Fault* outside) {
  const int64_t i = thread_index();
  if (i >= numel) return;
  const int64_t given = index[positions.offset(0, i)], p = given < 0 ? given + size : given;
  const bool fine = is_inside(p, size);
  if (!fine) tell(outside, given, size);
  offsets[i] = (fine ? p * stride : 0) + (first ? 0 : offsets[i]);
}

bool offsets(int64_t* offsets, bool first, const Dims& shape, const Dims& strides,
             const char* index, int64_t size, int64_t stride) {
  const Faults outside(Check::Index);
  const int64_t numel = product(shape);
  launch<add_offsets>(grid_of(numel), offsets, first, positions_of(shape, {&strides}), numel,
                      reinterpret_cast<const int64_t*>(index), size, stride, outside.found());
  return outside.none();
}

// ---- place --------------------------------------------------------------------------------------
template <class T>
__device__ T combine(Place op, T a, T b) {
  switch (op) {
    case Place::Maximum:
      return (a < b) | (b != b) ? b : a;
    case Place::Minimum:
      return (b < a) | (b != b) ? b : a;
    case Place::Add:
      if constexpr (std::is_same_v<T, bool>)
        return a || b;
      else
        return wrapping_add(a, b);
    case Place::Multiply:
      if constexpr (std::is_same_v<T, bool>)
        return a && b;
      else
        return wrapping_mul(a, b);
    default:
      return b;
  }
}

// items: the index's lines in order of position. The thread of the first that names an element
// writes it. (Elements of x that lie at one address get one value: index_fill_ of an expanded x.)
template <class T>
__global__ void place_elements(const Along a, const Place op, const Item<uint64_t>* items,
                               const bool shared, const int64_t* positions) {
  const int64_t i = thread_index();
  if (i >= a.line_count * a.count) return;
  const int64_t line = a.line(i), start = shared ? 0 : line * a.count;
  int64_t k = a.place(i);
  const Item<uint64_t>* const item = items + start;
  const uint64_t key = item[k].key;
  if (k > 0 && item[k - 1].key == key) return;
  const int64_t p = positions[start + item[k].position];
  if (!is_inside(p, a.size)) return;
  T& x = a.x_at<T>(line, p);
  using C = Computed<T>;  // sums and products of halves are rounded once
  C value = static_cast<C>(read<T>(reinterpret_cast<const char*>(&x)));
  for (; k < a.count && item[k].key == key; ++k) {
    const T& other = a.other_at<T>(line, item[k].position);
    value = combine(op, value, static_cast<C>(read<T>(reinterpret_cast<const char*>(&other))));
  }
  x = static_cast<T>(value);
}

bool place(const AlongArgs& args, Place op) {
  const Faults outside(Check::Scatter);
  const Along a = on_device(args);
  const int64_t lines = index_lines(args), total = lines * args.count;
  const Scratch<int64_t> positions(total);
  launch<find_positions>(grid_of(total), a, total, positions.data(), outside.found());
  if (!outside.none()) return false;
  const Sorted<uint64_t> sorted(lines_of(positions.data(), DType::Int64, lines, args.count), false);
  with_type(args.dtype, [&](auto type) {
    launch<place_elements<decltype(type)>>(grid_of(a.line_count * a.count), a, op, sorted.items(),
                                           lines == 1, positions.data());
  });
  return true;
}

}  // namespace

const GatherTable gather_table = {pick, place, inside, offsets};

}  // namespace tt::cuda
