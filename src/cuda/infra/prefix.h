// Running sums: where each of several parts begins, and how many flags come before each.
//
// Flags go in two steps: each block counts its own (count_flags), and once it is known how many
// come before each block, its threads know how many come before each flag (for_each_flag).
#pragma once
#include "core/tables/masks.h"
#include "cuda/infra/block.h"

namespace tt::cuda {

// out[0] = 0, out[k + 1] = in[0] + ... + in[k]; in + 1 may be out. By one block.
void add_up(const int64_t* in, int64_t step, int64_t n, int64_t* out);

// Fills flags.starts, and answers how many flags hold.
int64_t count_flags(const MaskArgs& flags);

namespace {

inline int64_t flag_blocks(const MaskArgs& flags) {
  return (flags.numel + kMaskBlock - 1) / kMaskBlock;
}

// How many of a block's threads up to this one hold; `total`: of all.
__device__ inline int64_t count_up_to(bool holds, int64_t& total) {
  __shared__ int of_warps[kThreads / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned votes = __ballot_sync(kAllLanes, holds);
  __syncthreads();  // the warps' counts of an earlier call have been read
  if (lane == 0) of_warps[warp] = __popc(votes);
  __syncthreads();
  int64_t count = __popc(votes & (kAllLanes >> (31 - lane)));
  total = 0;
  for (unsigned w = 0; w < kThreads / 32; ++w) {
    if (w < warp) count += of_warps[w];
    total += of_warps[w];
  }
  return count;
}

// body(i, whether flag i holds, how many before it do), for the flags of a block.
template <class Body>
__device__ void for_each_flag(const MaskArgs& flags, Body body) {
  const int64_t begin = blockIdx.x * kMaskBlock;
  const int64_t end = begin + kMaskBlock < flags.numel ? begin + kMaskBlock : flags.numel;
  int64_t before = flags.starts[blockIdx.x];
  for (int64_t first = begin; first < end; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const bool holds = i < end && flags.mask[i] != 0;
    int64_t total;
    const int64_t count = count_up_to(holds, total);
    if (i < end) body(i, holds, before + count - holds);
    before += total;
  }
}

}  // namespace
}  // namespace tt::cuda
