// Indexing by masks: a block per kMaskBlock elements, which knows how many are true before it, and
// finds for each of its own where it goes (cuda/infra/prefix.h).
#include "core/dtypes/with_type.h"
#include "core/tables/masks.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/prefix.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// positions: of the mask's shape; total: where coordinates of the next dim start.
__global__ void write_positions(const MaskArgs args, const Positions<1> positions, int64_t* out) {
  const int64_t total = args.starts[gridDim.x];
  for_each_flag(args, [&](int64_t i, bool holds, int64_t before) {
    if (!holds) return;
    for (int d = positions.ndim - 1; d >= 0; --d) {
      out[d * total + before] = i % positions.shape[d];
      i /= positions.shape[d];
    }
  });
}

template <class T>
__global__ void pick(const MaskArgs args, const T* x, T* out) {
  for_each_flag(args, [&](int64_t i, bool holds, int64_t before) {
    if (holds) out[before] = x[i];
  });
}
template <class T>
__global__ void place(const MaskArgs args, T* x, const T* from) {
  for_each_flag(args, [&](int64_t i, bool holds, int64_t before) {
    if (holds) x[i] = from[before];
  });
}

void mask_positions(const MaskArgs& args, const Dims& shape, int64_t* out) {
  launch<write_positions>({flag_blocks(args), kThreads}, args, positions_of(shape, {&shape}), out);
}
void mask_pick(const MaskArgs& args, const char* x, char* out, int64_t item) {
  with_size(item, [&](auto type) {
    using T = decltype(type);
    launch<pick<T>>({flag_blocks(args), kThreads}, args, reinterpret_cast<const T*>(x),
                    reinterpret_cast<T*>(out));
  });
}
void mask_place(const MaskArgs& args, char* x, const char* from, int64_t item) {
  with_size(item, [&](auto type) {
    using T = decltype(type);
    launch<place<T>>({flag_blocks(args), kThreads}, args, reinterpret_cast<T*>(x),
                     reinterpret_cast<const T*>(from));
  });
}

}  // namespace

const MasksTable masks_table = {count_flags, mask_positions, mask_pick, mask_place};

}  // namespace tt::cuda
