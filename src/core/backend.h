// The table that a device fills in: one function per op and dtype. A missing entry is nullptr.
#pragma once
#include "core/iter.h"

namespace tt {

#define TT_NAME(name, ...) name,
enum class Unary : int {
#define UNARY TT_NAME
#include "core/ops.def"
  kCount
};
enum class Binary : int {  // comparisons too: they take two operands
#define BINARY TT_NAME
#define COMPARE TT_NAME
#include "core/ops.def"
  kCount
};
enum class Ternary : int {
#define TERNARY TT_NAME
#include "core/ops.def"
  kCount
};
enum class Reduce : int {
#define REDUCE TT_NAME
#include "core/ops.def"
  kCount
};
#undef TT_NAME

// How the dtype of a result follows from the promoted dtype of the operands.
enum class ResultRule { Same, Float, Bool, Sum };

using Kernel = void (*)(const Iter&);

// One reduction: out[o] = reduce over r of x[o, r], both walked by dims of their own.
struct ReduceArgs {
  const char* x;
  DType dtype;    // of x
  DType compute;  // what x is converted to
  char* out;      // contiguous, in row-major order of the kept dims, of the result's dtype
  Dims kept, kept_strides;  // strides in bytes
  Dims reduced, reduced_strides;
};
using ReduceKernel = void (*)(const ReduceArgs&);

template <class Op>
constexpr int count_of() {
  return static_cast<int>(Op::kCount);
}

struct ElementwiseTable {
  Kernel unary[count_of<Unary>()][kDTypes];
  Kernel binary[count_of<Binary>()][kDTypes];
  Kernel ternary[count_of<Ternary>()][kDTypes];
  Kernel where[kDTypes];  // inputs: condition (not 0), x, y
};

struct ReduceTable {
  ReduceKernel kernels[count_of<Reduce>()][kDTypes];
};

// C[b] = A[b] @ B[b] (+ bias); strides in elements, never negative.
struct MatmulArgs {
  int64_t m, n, k;
  const void* a;  // (m, k)
  const void* b;  // (k, n)
  void* c;        // (m, n)
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  int batch_ndim;
  const int64_t* batch_shape;
  const int64_t* a_batch;  // strides, one per batch dim
  const int64_t* b_batch;
  const int64_t* c_batch;
  bool accumulate;   // add to what C holds
  const void* bias;  // (n), added last, or null
  int64_t bias_stride;
};
using MatmulKernel = void (*)(const MatmulArgs&);

struct Backend {
  const char* name;
  const char* instruction_set;
  ElementwiseTable elementwise;
  ReduceTable reduce;
  MatmulKernel matmul[kDTypes];
  Kernel copy;  // out = input, from iter.compute to iter.result: any two dtypes
};

// The CPU's, for the instruction set that cpuid or TINY_TORCH_ISA names.
const Backend& cpu_backend();

}  // namespace tt
