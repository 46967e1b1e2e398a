// Whether channels come last in memory: what the kernels of nn's families ask and answer.
#pragma once
#include <algorithm>

#include "core/api/cast.h"

namespace tt {

// As PyTorch's suggest_memory_format, of (N, C, *) with one to three spatial dims.
bool looks_channels_last(const NDArray& x);
Dims channels_last_strides(const Dims& shape);
// An uninitialised array of shape (N, C, *).
NDArray empty_laid_out(const NDArray& like, const Dims& shape, DType dtype, bool channels_last);

// Throws if the system lacks the memory of an array like x but for its spatial sizes and of tables
// of so many bytes, which are about to be made.
void expect_memory(const NDArray& x, const Dims& size, double tables);

// x with a batch dim, if it has none: of shape (N, C, *) or (C, *), with `spatial` dims at the end.
NDArray with_batch(const NDArray& x, int spatial);
// y, made of an array with a batch dim, without that if x has none.
NDArray batched_as(const NDArray& y, const NDArray& x);
// Those dims.
Dims spatial_of(const NDArray& x, int spatial);
// (N, C, D, H, W): 0 for the dims that are missing.
void strides_of(const NDArray& x, int64_t* strides);

// y = f(x) in another dtype: makes f(part, begin, end) of images begin to end of x, converted, of
// as many at a time as fit the last cache beside their results.
template <class F>
void in_parts(const NDArray& x, DType dtype, const NDArray& y, const F& f) {
  constexpr int64_t kElements = 1 << 20;
  const int64_t images = x.shape()[0];
  const int64_t most = std::max(x.numel(), y.numel()) / std::max<int64_t>(images, 1);
  const int64_t step = std::max<int64_t>(kElements / std::max<int64_t>(most, 1), 1);
  for (int64_t begin = 0; begin < images; begin += step) {
    const int64_t end = std::min(begin + step, images);
    const NDArray part = f(astype(x.slice(0, begin, end, 1), dtype), begin, end);
    copy_into(y.slice(0, begin, end, 1), &part);
  }
}

}  // namespace tt
