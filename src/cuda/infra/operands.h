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
  // Whether the elements of the fastest dim are whole packs: of each array aligned neighbours, or
  // one for all of them. The output has neighbours.
  bool is_packed;
  int64_t numel;
  int64_t shape[kMaxDims];  // the fastest dim first
  One of[Iter::kMaxOperands];
};
Operands operands_of(const Iter& iter);

namespace {

// What a thread moves at a time: of float32 16 bytes, the most that one access has.
constexpr int kPack = 4;
template <class T>
struct alignas(kPack * sizeof(T)) Pack {
  T of[kPack];
};

template <class T, class Stored>
__device__ Pack<T> converted_pack(const Pack<Stored>& from) {
  Pack<T> to;
  for (int j = 0; j < kPack; ++j) to.of[j] = converted<T>(from.of[j]);
  return to;
}

template <class T>
__device__ Pack<T> four_times(T x) {
  return {{x, x, x, x}};
}

// As many blocks as there are elements for, each thread taking `per_thread`.
inline Grid grid_of(int64_t numel, int64_t per_thread = 1) {
  const int64_t blocks = (numel + kThreads * per_thread - 1) / (kThreads * per_thread);
  return {blocks, kThreads};
}

__device__ inline int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// Bytes from the first element of operand k to the one at `index` in row-major order.
template <class Index>
__device__ int64_t offset_by(const Operands& all, int k, Index index) {
  int64_t offset = 0;
  for (int d = 0; d < all.ndim - 1; ++d) {
    const Index size = static_cast<Index>(all.shape[d]);
    offset += index % size * all.of[k].strides[d];
    index /= size;
  }
  return all.ndim > 0 ? offset + static_cast<int64_t>(index) * all.of[k].strides[all.ndim - 1] : 0;
}
__device__ inline int64_t offset_of(const Operands& all, int k, int64_t index) {
  // A GPU divides numbers of 64 bits much more slowly.
  return all.numel <= UINT32_MAX ? offset_by(all, k, static_cast<uint32_t>(index))
                                 : offset_by(all, k, static_cast<uint64_t>(index));
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
