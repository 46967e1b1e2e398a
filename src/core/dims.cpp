#include "core/dims.h"

namespace tt {

int64_t checked_numel(const Dims& shape, const char* op) {
  int64_t numel = 1;
  bool overflow = false, empty = false;
  for (int64_t size : shape) {
    if (size < 0) throw RuntimeError("[", op, "] negative dimension ", size, " in shape ", shape);
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(numel, std::max<int64_t>(size, 1), &numel);
  }
  // Beside a size of 0, too: strides are such products.
  if (overflow)
    throw RuntimeError("[", op, "] the number of elements of shape ", shape, " overflows");
  return empty ? 0 : numel;
}

int64_t window_room(int64_t size, int64_t padding, int64_t dilation, int64_t taps, const char* op) {
  const int64_t reach = checked_mul(dilation, taps - 1, op);
  const int64_t padded = checked_add(size, checked_mul(2, padding, op), op);
  return checked_add(padded, -reach - 1, op);
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (int i = shape.size() - 2; i >= 0; --i) {
    // checked_numel refuses the shapes for which this overflows, wherever it is called first.
    if (__builtin_mul_overflow(strides[i + 1], std::max<int64_t>(shape[i + 1], 1), &strides[i]))
      strides[i] = 0;
  }
  return strides;
}

int wrap_dim(int64_t dim, int ndim) {
  const int64_t limit = std::max(ndim, 1);
  if (dim < -limit || dim >= limit)
    throw IndexError("Dimension out of range (expected to be in range of [", -limit, ", ",
                     limit - 1, "], but got ", dim, ")");
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

Dims broadcast(const Dims& a, const Dims& b) {
  if (a == b) return a;
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims shape = longer;
  const int lead = longer.size() - shorter.size();
  for (int i = shorter.size() - 1; i >= 0; --i) {  // the last that differs is named
    const int64_t mine = longer[lead + i], other = shorter[i];
    if (mine != other && mine != 1 && other != 1)
      throw RuntimeError("The size of tensor a (", &longer == &a ? mine : other,
                         ") must match the size of tensor b (", &longer == &a ? other : mine,
                         ") at non-singleton dimension ", lead + i, " (shapes ", a, " and ", b,
                         ")");
    shape[lead + i] = mine == 1 ? other : mine;
  }
  return shape;
}

}  // namespace tt
