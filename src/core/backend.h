// The table that a device fills in: one function per op and dtype. A missing entry is nullptr.
#pragma once
#include "core/iter.h"

namespace tt {

#define TT_NAME(name, ...) name,
enum class Unary : int {  // tests too: they take one operand
#define UNARY TT_NAME
#define TEST TT_NAME
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
enum class Quaternary : int {
#define QUATERNARY TT_NAME
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

// Extremes of lines along one dim, and the positions of the first of them.
struct ArgArgs {
  const char* x;
  DType dtype, compute;
  int64_t size, step;   // of a line; in bytes, as all strides
  Dims lines, strides;  // the other dims
  char* values;         // contiguous, of dtype; or null
  int64_t* positions;   // contiguous
};
using ArgKernel = void (*)(const ArgArgs&);

template <class Op>
constexpr int count_of() {
  return static_cast<int>(Op::kCount);
}

struct ElementwiseTable {
  Kernel unary[count_of<Unary>()][kDTypes];
  Kernel binary[count_of<Binary>()][kDTypes];
  Kernel ternary[count_of<Ternary>()][kDTypes];
  Kernel quaternary[count_of<Quaternary>()][kDTypes];
  Kernel where[kDTypes];       // inputs: condition (not 0), x, y
  Kernel nan_to_num[kDTypes];  // inputs: x, and what replaces NaN, inf and -inf
};

struct ReduceTable {
  ReduceKernel kernels[count_of<Reduce>()][kDTypes];
  ArgKernel argmax[kDTypes], argmin[kDTypes];
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

// Elements of x at given positions along one dim, for every line of the others: the element k of a
// line is x[position(line, k)] and other[line, k]. Strides are in elements.
struct AlongArgs {
  DType dtype;
  Dims lines;  // shape of the other dims
  Dims x_lines, other_lines, index_lines;
  int64_t count;                   // of elements in a line
  int64_t other_step, index_step;  // from one of them to the next
  int64_t size, stride;            // of x along the dim
  bool wraps;                      // positions below 0 count from the end
  char *x, *other;
  const char* index;  // int64
};
enum class Place : int { Set, Add, Multiply, Maximum, Minimum };

// Numbers of true elements in the blocks of a contiguous mask, and how many come before each.
struct MaskArgs {
  const char* mask;
  int64_t numel;
  int64_t* starts;  // one per block, and the total
};
constexpr int64_t kMaskBlock = 4096;

struct IndexTable {
  // other = x[positions]; false where one is outside: then only some have been read.
  bool (*pick)(const AlongArgs&);
  // x[positions] = other, or combined with it: in order along the dim. False where a position is
  // outside: then only some have been written, as in PyTorch.
  bool (*place)(const AlongArgs&, Place);
  bool (*inside)(const AlongArgs&);
  // offsets[k] (+)= position k * stride; false where one is outside. For indices of any layout.
  bool (*offsets)(int64_t* offsets, bool first, const Dims& shape, const Dims& strides,
                  const char* index, int64_t size, int64_t stride);
  void (*mask_count)(const MaskArgs&);
  // out[d * total + k]: coordinate d of the k-th true element of a mask of this shape.
  void (*mask_positions)(const MaskArgs&, const Dims& shape, int64_t* out);
  void (*mask_pick)(const MaskArgs&, const char* x, char* out, int64_t item);    // out[k] = x[k-th]
  void (*mask_place)(const MaskArgs&, char* x, const char* from, int64_t item);  // the reverse
  // out = x; strides in elements, those of reversed dims negative.
  void (*copy_reversed)(const char* x, char* out, const Dims& shape, const Dims& x_strides,
                        const Dims& out_strides, int64_t item);
  // out = x where column - row <= diagonal (lower) or >= diagonal, else 0; both contiguous.
  void (*triangle)(const char* x, char* out, int64_t matrices, int64_t rows, int64_t columns,
                   int64_t diagonal, bool lower, int64_t item);
};

// More families, each declared in core/kernels/<family>.h.
struct AttentionTable;
struct ConvTable;
struct HistogramTable;
struct LossTable;
struct NormTable;
struct OptimTable;
struct OrderTable;
struct PoolTable;
struct RandomTable;
struct RecurrentTable;
struct ScanTable;

struct Backend {
  const char* name;
  const char* instruction_set;
  ElementwiseTable elementwise;
  ReduceTable reduce;
  MatmulKernel matmul[kDTypes];
  MatmulKernel matmul_naive[kDTypes];  // their definition, for tests
  Kernel copy;  // out = input, from iter.compute to iter.result: any two dtypes
  IndexTable index;
  const AttentionTable* attention = nullptr;
  const ConvTable* conv = nullptr;
  const HistogramTable* histogram = nullptr;
  const LossTable* loss = nullptr;
  const NormTable* norm = nullptr;
  const OptimTable* optim = nullptr;
  const OrderTable* order = nullptr;
  const PoolTable* pool = nullptr;
  const RandomTable* random = nullptr;
  const RecurrentTable* recurrent = nullptr;
  const ScanTable* scan = nullptr;
};

// The CPU's, for the instruction set that cpuid or TINY_TORCH_ISA names.
const Backend& cpu_backend();

}  // namespace tt
