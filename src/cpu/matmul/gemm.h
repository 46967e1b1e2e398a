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

}  // namespace tt::cpu
