// What is done to whole lists of arrays besides optimiser steps (optim.cu): ForeachTable.
#include "cuda/infra/tables.h"
#include "cuda/optim/lists.h"

namespace tt::cuda {
namespace {

// sum |x|^power, or max |x|, of an array's part: by one block.
template <class T>
__global__ void sum_blocks(const NormBlock* blocks, const NormPower power, double* out) {
  const NormBlock& block = blocks[blockIdx.x];
  const T* const x = static_cast<const T*>(block.data);
  T state = 0;
  for (int64_t i = threadIdx.x; i < block.n; i += kThreads) {
    const T size = abs(x[i]);
    if (power == NormPower::Infinity)
      state = state > size || state != state ? state : size;
    else
      state += power == NormPower::Two ? size * size : size;
  }
  const double own = static_cast<double>(state);
  const double all = power == NormPower::Infinity ? max_of_block(own) : sum_of_block(own);
  if (threadIdx.x == 0) out[blockIdx.x] = all;
}

// The norm of each array from the sums of its parts: by one block.
template <class T>
__global__ void join_blocks(const double* sums, const int64_t* ends, const NormPower power,
                            T* out) {
  double own = 0;
  for (int64_t i = (blockIdx.x ? ends[blockIdx.x - 1] : 0) + threadIdx.x; i < ends[blockIdx.x];
       i += kThreads) {
    if (power == NormPower::Infinity)
      own = own > sums[i] || own != own ? own : sums[i];
    else
      own += sums[i];
  }
  const double all = power == NormPower::Infinity ? max_of_block(own) : sum_of_block(own);
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(power == NormPower::Two ? sqrt(all) : all);
}

template <class T>
void norms(const NormsArgs& a) {
  if (a.count == 0) return;
  const int64_t count = a.ends[a.count - 1];
  const Scratch<NormBlock> blocks(a.blocks, count);
  const Scratch<int64_t> ends(a.ends, a.count);
  const Scratch<double> sums(count);
  launch<sum_blocks<T>>({count, kThreads}, blocks.data(), a.power, sums.data());
  launch<join_blocks<T>>({a.count, kThreads}, sums.data(), ends.data(), a.power,
                         static_cast<T*>(a.out));
}

void norms_of_any(const NormsArgs& args) { args.single ? norms<float>(args) : norms<double>(args); }

}  // namespace

const ForeachTable foreach_table = {steps<Scale>(), steps<Clamp>(), steps<Lerp>(), norms_of_any};

}  // namespace tt::cuda
