// One kernel for everything that makes one answer of many elements: a fold. Its op says what a
// state is, how it takes an element, and how two of them become one:
//
//   struct Op {
//     using State = ...;
//     __device__ State init() const;
//     __device__ State step(State s, const char* x, DType dtype, int64_t r) const;  // the r-th
//     __device__ State combine(State s, State t) const;
//     __device__ void finish(State s, int64_t output) const;  // writes the answer
//   };
//
// A block takes `width` outputs side by side, each with kThreads / width threads: 1 output where
// its elements are neighbours in memory, 32 where those of different outputs are, and kThreads
// where there is little to fold. Long folds are cut in chunks, whose states are folded in turn.
#pragma once
#include "cuda/infra/block.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {

// x[output, r], both walked by dims of their own.
struct Folded {
  const char* x;
  DType dtype;
  Positions<1> kept, reduced;
  int64_t outputs, length;
  int width;
  int64_t chunk, chunks;  // of the length
};
Folded folded_of(const char* x, DType dtype, const Dims& kept, const Dims& kept_strides,
                 const Dims& reduced, const Dims& reduced_strides);
Folded folded_of(const Lines& lines);  // stream 0, an output per line
Folded folded_line(const char* x, DType dtype, int64_t size);
// A fold of the states that a fold in chunks leaves.
Folded folded_states(const Folded& before, const void* states, int64_t bytes);

namespace {

// Answers, or with `partial` the states [chunk][output]. With kStates x are states of before.
template <class Op, bool kStates>
__global__ void fold(const Op op, const Folded all, typename Op::State* const partial) {
  using State = typename Op::State;
  __shared__ State states[kThreads];  // (height, width)
  const int width = all.width, height = kThreads / width;
  const int column = threadIdx.x % width, row = threadIdx.x / width;
  const int64_t output = blockIdx.x / all.chunks * width + column;
  const int64_t chunk = blockIdx.x % all.chunks, begin = chunk * all.chunk;
  const int64_t end = begin + all.chunk < all.length ? begin + all.chunk : all.length;
  State state = op.init();
  if (output < all.outputs) {
    const char* const x = all.x + all.kept.offset(0, output);
    for (int64_t r = begin + row; r < end; r += height) {
      const char* const at = x + all.reduced.offset(0, r);
      if constexpr (kStates)
        state = op.combine(state, *reinterpret_cast<const State*>(at));
      else
        state = op.step(state, at, all.dtype, r);
    }
  }
  states[threadIdx.x] = state;
  for (int half = height / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half) {
      state = op.combine(state, states[threadIdx.x + half * width]);
      states[threadIdx.x] = state;
    }
  }
  if (row > 0 || output >= all.outputs) return;
  if (partial)
    partial[chunk * all.outputs + output] = state;
  else
    op.finish(state, output);
}

template <class Op, bool kStates = false>
void run_fold(const Op& op, const Folded& all) {
  using State = typename Op::State;
  const int64_t blocks = (all.outputs + all.width - 1) / all.width * all.chunks;
  const Grid grid{blocks, kThreads};
  if (all.chunks == 1) return launch<fold<Op, kStates>>(grid, op, all, nullptr);
  const Scratch<State> states(all.chunks * all.outputs);
  launch<fold<Op, kStates>>(grid, op, all, states.data());
  run_fold<Op, true>(op, folded_states(all, states.data(), sizeof(State)));
}

}  // namespace
}  // namespace tt::cuda
