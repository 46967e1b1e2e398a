// What each per-instruction-set build exports: constant tables of function pointers, nothing else.
#pragma once
#include "cpu/run.h"

namespace tt::cpu {

// [from][to]: out[i] = x[i], converted.
struct ConversionTable {
  Loop loops[kDTypes][kDTypes];
};

// How one reduction works on a piece of the input; every state is one element of compute dtype.
struct ReduceOps {
  // state = the n <= kChunk elements at x, contiguous.
  void (*inner)(const char* x, int64_t n, char* state);
  // states[j] = the n <= kChunk elements x[offsets[i] + j * itemsize], for j < columns.
  void (*outer)(const char* x, const int64_t* offsets, int64_t n, int64_t columns, char* states);
  void (*combine)(char* states, const char* others, int64_t count);
  // out[j] = the answer of states[j], which has seen n elements.
  void (*finish)(const char* states, int64_t n, char* out, int64_t count);
  int64_t state_size;
};
constexpr int64_t kChunk = 4096;

extern const ElementwiseTable elementwise_common_table;
extern const ReduceTable reduce_int_table;

#define TT_DECLARE_TABLES(isa)                     \
  namespace isa {                                  \
  extern const ConversionTable conversion_table;   \
  extern const ElementwiseTable elementwise_table; \
  extern const ReduceTable reduce_table;           \
  }
TT_DECLARE_TABLES(v2)
TT_DECLARE_TABLES(v3)
TT_DECLARE_TABLES(v4)
TT_DECLARE_TABLES(base)

// Walks ReduceArgs with an op's pieces; Note [Reductions].
void run_reduce(const ReduceArgs& args, const ReduceOps& ops);

}  // namespace tt::cpu
