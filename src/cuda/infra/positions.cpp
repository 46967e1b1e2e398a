#include "cuda/infra/positions.h"

namespace tt::cuda {

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
