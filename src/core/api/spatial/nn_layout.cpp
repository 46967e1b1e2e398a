#include "core/api/spatial/nn_layout.h"

#include "core/memory/allocator.h"

namespace tt {

bool looks_channels_last(const NDArray& x) {
  const int n = x.ndim();
  if (n < 3 || n > 5 || x.strides()[1] == 0) return false;
  int64_t least = 0;
  for (int i = 0; i < n; ++i) {  // from the inside: C, the spatial dims, N
    const int dim = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
    if (x.shape()[dim] == 0 || x.strides()[dim] < least ||
        (dim == 0 && least == x.strides()[1]))  // (N, 1, H, W) is both
      return false;
    least = x.strides()[dim] * x.shape()[dim];
  }
  return true;
}

Dims channels_last_strides(const Dims& shape) {
  Dims strides = shape;
  strides[1] = 1;
  int64_t step = std::max<int64_t>(shape[1], 1);
  for (int d = shape.size() - 1; d >= 2; --d) {
    strides[d] = step;
    // Where this overflows, checked_numel refuses the shape.
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[d], 1), &step)) step = 0;
  }
  strides[0] = step;
  return strides;
}

NDArray empty_laid_out(const NDArray& like, const Dims& shape, DType dtype, bool channels_last) {
  return channels_last ? like.new_empty_strided(shape, channels_last_strides(shape), dtype)
                       : like.new_empty(shape, dtype);
}

void expect_memory(const NDArray& x, const Dims& size, double tables) {
  double bytes = itemsize(x.dtype());
  for (int d = 0; d < x.ndim() - size.size(); ++d) bytes *= double(x.shape()[d]);
  for (int64_t n : size) bytes *= double(n);
  Allocator::expect(bytes + tables);
}

NDArray with_batch(const NDArray& x, int spatial) {
  if (x.ndim() != spatial + 1 && x.ndim() != spatial + 2)
    throw RuntimeError("expected an array of ", spatial + 1, " or ", spatial + 2, " dims, got ",
                       x.shape());
  return x.ndim() == spatial + 2 ? x : x.unsqueeze(0);
}

NDArray batched_as(const NDArray& y, const NDArray& x) {
  return y.ndim() == x.ndim() ? y : y.squeeze({0});
}

Dims spatial_of(const NDArray& x, int spatial) {
  Dims sizes;
  for (int d = std::max(x.ndim() - spatial, 0); d < x.ndim(); ++d) sizes.push_back(x.shape()[d]);
  return sizes;
}

void strides_of(const NDArray& x, int64_t* strides) {
  const int missing = 5 - x.ndim();
  for (int d = 0; d < 5; ++d)
    strides[d] = d < 2 ? x.strides()[d] : d < 2 + missing ? 0 : x.strides()[d - missing];
}

}  // namespace tt
