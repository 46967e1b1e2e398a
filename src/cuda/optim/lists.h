// What is done to each element of a list of arrays: one launch for the whole list.
//
// A block has kSpan neighbours of one array; which array that is, it finds by its number.
#pragma once
#include <vector>

#include "core/tables/optim.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/block.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {
namespace {

// NaN stays.
template <class T>
__device__ T clamp(T x, T low, T high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

__device__ bool any(bool mask) { return mask; }
TT_HOST_DEVICE void tell(float* found) { *found = 1; }  // steps are of both sides

#include "core/formulas/optim_steps.h"

// Elements of a thread: the search for the array is theirs together.
constexpr int kEach = 8;
constexpr int64_t kSpan = kEach * kThreads;

struct Listed {
  Chunk chunk;
  int64_t first_block;
};

// An element of a chunk.
template <class Type>
struct Place {
  using T = Type;
  using V = Type;
  const Chunk& chunk;
  int64_t i;

  __device__ T param() const { return static_cast<const T*>(chunk.param)[i]; }
  __device__ T grad() const { return static_cast<const T*>(chunk.grad)[i]; }
  __device__ T state(int k) const { return static_cast<const T*>(chunk.state[k])[i]; }
  __device__ void set_param(T value) const { static_cast<T*>(chunk.param)[i] = value; }
  __device__ void set_state(int k, T value) const { static_cast<T*>(chunk.state[k])[i] = value; }
  __device__ double scale(int k) const { return chunk.scale[k]; }
};

// Step::step(args, place) for each element of `count` > 0 arrays.
template <class T, class Step>
__global__ void update(const Listed* list, const int64_t count, const typename Step::Args args) {
  int64_t low = 0, high = count;  // the last of those that start at this block or before it
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (list[middle].first_block <= blockIdx.x ? low : high) = middle;
  }
  const Chunk chunk = list[low].chunk;  // into registers
  const int64_t first = (blockIdx.x - list[low].first_block) * kSpan + threadIdx.x;
  for (int k = 0; k < kEach; ++k)
    if (const int64_t i = first + k * kThreads; i < chunk.numel)
      Step::step(args, Place<T>{chunk, i});
}

template <class T, class Step>
void update_all(const Chunk* chunks, int64_t count, const typename Step::Args& args) {
  std::vector<Listed> list;
  int64_t blocks = 0;
  for (int64_t c = 0; c < count; ++c) {
    list.push_back({chunks[c], blocks});
    blocks += (chunks[c].numel + kSpan - 1) / kSpan;
  }
  const Scratch<Listed> there(count);
  copy_to_device(there.data(), list.data(), count * sizeof(Listed));
  launch<update<T, Step>>({blocks, kThreads}, there.data(), count, args);
}

template <class Step>
constexpr Steps<typename Step::Args> steps() {
  return {update_all<float, Step>, update_all<double, Step>};
}

}  // namespace
}  // namespace tt::cuda
