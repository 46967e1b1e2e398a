#include "cuda/infra/fold.h"

#include <cstdlib>

namespace tt::cuda {

namespace {

constexpr int64_t kPerThread = 32;  // elements of a chunk

// Dims that can be walked as one become one.
Positions<1> merged(Dims shape, Dims strides) {
  for (int d = shape.size() - 2; d >= 0; --d)
    if (strides[d] == strides[d + 1] * shape[d + 1]) {
      shape[d + 1] *= shape[d];
      shape.erase(d);
      strides.erase(d);
    }
  return positions_of<1>(shape, {&strides});
}

int64_t nearest(const Dims& strides) {
  return strides.empty() ? INT64_MAX : std::abs(strides.back());
}

}  // namespace

Folded folded_of(const char* x, DType dtype, const Dims& kept, const Dims& kept_strides,
                 const Dims& reduced, const Dims& reduced_strides) {
  Folded all{};
  all.x = x;
  all.dtype = dtype;
  all.kept = merged(kept, kept_strides);
  all.reduced = merged(reduced, reduced_strides);
  all.outputs = product(kept);
  all.length = product(reduced);
  const bool side_by_side = nearest(kept_strides) < nearest(reduced_strides);
  all.width = all.length <= kPerThread ? kThreads : side_by_side ? 32 : 1;
  all.chunk = kPerThread * (kThreads / all.width);
  all.chunks = std::max<int64_t>(ceil_div(all.length, all.chunk), 1);
  return all;
}

Folded folded_of(const Lines& lines) {
  const LineStream& x = lines.stream[0];
  return folded_of(x.data, x.dtype, lines.shape, x.strides, {lines.size}, {x.step});
}

Folded folded_line(const char* x, DType dtype, int64_t size) {
  return folded_of(x, dtype, {}, {}, {size}, {static_cast<int64_t>(itemsize(dtype))});
}

Folded folded_states(const Folded& before, const void* states, int64_t bytes) {
  return folded_of(static_cast<const char*>(states), before.dtype, {before.outputs}, {bytes},
                   {before.chunks}, {before.outputs * bytes});
}

}  // namespace tt::cuda
