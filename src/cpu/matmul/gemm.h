// Matrix products: C[b] = A[b] @ B[b] (+ C[b]) (+ bias) for any strides.
//
// The order of summation (`naive` in gemm.cpp) follows from k, and from whether C is a single row
// or column: an element has the same bits in every layout, for any number of threads, and in a
// matrix of any number of rows and columns above one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/tables/matmul.h"

namespace tt::cpu {

// C overlaps neither itself nor another operand; strides may be 0 in A, B and bias.
using Gemm = MatmulArgs;
using GemmFunction = MatmulKernel;

struct GemmTable {
  GemmFunction f32, f64;
  GemmFunction naive_f32, naive_f64;
};

namespace v2 {
extern const GemmTable gemm_table;
}
namespace v3 {
extern const GemmTable gemm_table;
}
namespace v4 {
extern const GemmTable gemm_table;
}
namespace base {
extern const GemmTable gemm_table;
}

// Integers wrap around. Compiled once, without a claim to speed.
void gemm_int64(const Gemm& g);
void gemm_int32(const Gemm& g);
void gemm_int16(const Gemm& g);
void gemm_int8(const Gemm& g);
void gemm_uint8(const Gemm& g);

// Memory for packed panels, 64-byte aligned; acquire may throw, and is called outside of parallel
// loops only.
void* scratch_acquire(size_t bytes);
void scratch_release(void* block);

}  // namespace tt::cpu
