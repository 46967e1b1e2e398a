#include "cuda/infra/positions.h"

namespace tt::cuda {

Positions<1> in_memory_order(const NDArray& x) {
  Positions<1> all{};
  int64_t (&shape)[kMaxDims] = all.shape, (&strides)[kMaxDims] = all.strides[0];
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.shape()[d] == 1) continue;
    int at = all.ndim++;  // behind those of larger strides
    for (; at > 0 && strides[at - 1] < x.strides()[d]; --at) {
      shape[at] = shape[at - 1];
      strides[at] = strides[at - 1];
    }
    shape[at] = x.shape()[d];
    strides[at] = x.strides()[d];
  }
  int last = 0;
  for (int d = 1; d < all.ndim; ++d) {
    const bool dense = strides[last] == strides[d] * shape[d];
    if (!dense) ++last;
    shape[last] = dense ? shape[last] * shape[d] : shape[d];
    strides[last] = strides[d];
  }
  all.ndim = all.ndim ? last + 1 : 0;
  return all;
}

DeviceLines on_device(const Lines& lines) {
  DeviceLines all{};
  all.count = lines.count;
  all.size = lines.size;
  const Dims* strides[Lines::kMaxStreams];
  for (int k = 0; k < Lines::kMaxStreams; ++k) {
    const LineStream& from = lines.stream[k < lines.streams ? k : 0];
    strides[k] = &from.strides;
    all.stream[k] = {from.data, from.dtype, from.step};
  }
  all.positions = positions_of(lines.shape, strides);
  return all;
}

}  // namespace tt::cuda
