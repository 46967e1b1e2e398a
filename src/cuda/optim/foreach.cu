// What is done to whole lists of arrays besides optimiser steps.
#include "cuda/infra/tables.h"
#include "cuda/optim/lists.h"

namespace tt::cuda {
namespace {

// sum |x|^power, or max |x|, of an array: by one block.
template <class T>
__device__ double norm_of(const NormBlock& block, NormPower power) {
  const T* const x = static_cast<const T*>(block.data);
  T state = 0;
  for (int64_t i = threadIdx.x; i < block.n; i += kThreads) {
    const T size = abs(x[i]);
    if (power == NormPower::Infinity)
      state = state > size || state != state ? state : size;
    else
      state += power == NormPower::Two ? size * size : size;
  }
  const double all = static_cast<double>(state);
  return power == NormPower::Infinity ? max_of_block(all) : sum_of_block(all);
}

__global__ void sum_blocks(const NormBlock* blocks, const NormPower power, double* out) {
  const NormBlock& block = blocks[blockIdx.x];
  const double result = block.single ? norm_of<float>(block, power) : norm_of<double>(block, power);
  if (threadIdx.x == 0) out[blockIdx.x] = result;
}

// `blocks` and `out` are the host's.
void sums(const NormBlock* blocks, int64_t count, NormPower power, double* out) {
  const Scratch<NormBlock> list(count);
  const Scratch<double> found(count);
  copy_to_device(list.data(), blocks, count * sizeof(NormBlock));
  launch<sum_blocks>({count, kThreads}, list.data(), power, found.data());
  copy_to_host(out, found.data(), count * sizeof(double));
}

}  // namespace

const ForeachTable foreach_table = {steps<Scale>(), steps<Clamp>(), steps<Lerp>(), sums};

}  // namespace tt::cuda
