// What an elementwise kernel gets of an Iter: shapes, strides and pointers by value.
#pragma once
#include "core/iter.h"
#include "cuda/infra/block.h"
#include "cuda/infra/elements.h"

namespace tt::cuda {

struct Operands {
  struct One {
    char* data;  // null: a number
    DType dtype;
    int64_t strides[kMaxDims];  // bytes
    alignas(8) char number[8];  // of iter.compute
  };
  int ndim;
  int64_t numel;
  int64_t shape[kMaxDims];  // the fastest dim first
  One of[Iter::kMaxOperands];
};
Operands operands_of(const Iter& iter);

namespace {

// As many blocks as there are elements for, each thread taking `per_thread`.
inline Grid grid_of(int64_t numel, int64_t per_thread = 1) {
  const int64_t blocks = (numel + kThreads * per_thread - 1) / (kThreads * per_thread);
  return {static_cast<unsigned>(blocks), kThreads};
}

__device__ inline int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// Bytes from the first element of operand k to the one at `index` in row-major order.
__device__ inline int64_t offset_of(const Operands& all, int k, int64_t index) {
  int64_t offset = 0;
  for (int d = 0; d < all.ndim; ++d) {
    offset += index % all.shape[d] * all.of[k].strides[d];
    index /= all.shape[d];
  }
  return offset;
}

// Element `index` of operand k as a T, which iter.compute is.
template <class T>
__device__ T input(const Operands& all, int k, int64_t index) {
  const Operands::One& one = all.of[k];
  if (!one.data) return read<T>(one.number);
  return load_as<T>(one.data + offset_of(all, k, index), one.dtype);
}

}  // namespace
}  // namespace tt::cuda
