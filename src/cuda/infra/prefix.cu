#include "cuda/infra/prefix.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {
namespace {

// The sum of the values of a block's threads up to this one; `total`: of all.
__device__ int64_t sum_up_to(int64_t value, int64_t& total) {
  __shared__ int64_t of_warps[kThreads / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const int64_t earlier = __shfl_up_sync(kAllLanes, value, distance);
    if (lane >= distance) value += earlier;
  }
  __syncthreads();  // the warps' sums of an earlier call have been read
  if (lane == 31) of_warps[warp] = value;
  __syncthreads();
  total = 0;
  for (unsigned w = 0; w < kThreads / 32; ++w) {
    if (w < warp) value += of_warps[w];
    total += of_warps[w];
  }
  return value;
}

__global__ void running_sums(const int64_t* in, const int64_t step, const int64_t n, int64_t* out) {
  int64_t before = 0;
  for (int64_t first = 0; first < n; first += kThreads) {
    const int64_t k = first + threadIdx.x;
    int64_t total;
    const int64_t sum = sum_up_to(k < n ? in[k * step] : 0, total);
    if (k < n) out[k + 1] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) out[0] = 0;
}

__global__ void count_of_block(const MaskArgs flags) {
  const int64_t begin = blockIdx.x * kMaskBlock;
  const int64_t end = begin + kMaskBlock < flags.numel ? begin + kMaskBlock : flags.numel;
  int64_t count = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) count += flags.mask[i] != 0;
  count = sum_of_block(count);
  if (threadIdx.x == 0) flags.starts[blockIdx.x + 1] = count;
}

}  // namespace

void add_up(const int64_t* in, int64_t step, int64_t n, int64_t* out) {
  launch<running_sums>({1, kThreads}, in, step, n, out);
}

int64_t count_flags(const MaskArgs& flags) {
  const int64_t blocks = flag_blocks(flags);
  launch<count_of_block>({blocks, kThreads}, flags);
  add_up(flags.starts + 1, 1, blocks, flags.starts);
  int64_t total;
  copy_to_host(&total, flags.starts + blocks, sizeof total);
  return total;
}

}  // namespace tt::cuda
