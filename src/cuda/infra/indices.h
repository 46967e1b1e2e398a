// Indices that nobody has refused: what is wrong with one is told later (faults.h).
#pragma once
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

// The nearest of [0, size); of at least one.
__device__ inline int64_t clamped(int64_t index, int64_t size) {
  return index < 0 ? 0 : index < size ? index : size - 1;
}

}  // namespace
}  // namespace tt::cuda
