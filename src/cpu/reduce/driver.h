// Walks of reductions, compiled once, and the pieces that they call, which are built per
// instruction set: a struct of function pointers for each op and dtype.
#pragma once
#include <cstdint>

#include "core/tables/reduce.h"

namespace tt::cpu {

// How one reduction works on a chunk of the input. A state is one element of compute dtype; each of
// the outputs has one per lane, states[lane * width + j], until they are combined.
constexpr int kLanes = 32;  // element r of a chunk goes to lane r % 32
constexpr int64_t kChunk = 4096;
struct ReduceOps {
  // What reads elements where they are.
  struct Reader {
    // The 32 lanes of each row step with its next n elements, contiguous: a multiple of 32, unless
    // they are the last. `first`: nothing has been seen yet. Rows are row_step bytes apart.
    void (*inner)(char* states, const char* x, int64_t n, bool first, int64_t rows,
                  int64_t row_step);
    // out[j] = all of the n rows' elements j, up to `width`.
    void (*columns)(const char* const* rows, int64_t n, int64_t width, char* out);
    // `width` outputs step with n rows of elements: row r goes to lane r % lanes.
    void (*outer)(char* states, const char* const* rows, int64_t n, int64_t lanes, int64_t width);
  };
  Reader native, half, bfloat16, boolean;  // of compute dtype, or of these; null where none is
  // out[r] = the 32 lanes of row r, states[r * 32 + lane], combined.
  void (*fold_rows)(const char* states, int64_t rows, char* out);
  void (*init)(char* states, int64_t count);
  // out[j] = the lanes of output j, combined; only the first `used` have seen elements.
  void (*fold)(char* states, int64_t used, int64_t width, char* out);
  void (*combine)(char* states, const char* others, int64_t count);
  // out[j] = the answer of states[j], which has seen n elements. Answers whether all are finite,
  // where it may matter that one is not.
  bool (*finish)(const char* states, int64_t n, char* out, int64_t count);
  int64_t state_size;
  int64_t lanes;  // of outer: 1 where the order of elements makes no difference
  int64_t chunk;  // elements; a multiple of kChunk
  // The same in double, of elements times kDown: no sum of them overflows on the way. Null where
  // finish() answers true.
  void (*step_again)(double* state, const double* x, int64_t n) = nullptr;
  void (*finish_again)(double state, int64_t n, char* out) = nullptr;
};
constexpr double kDown = 0x1p-64;

// How argmax and its like work on a piece of the input. A record is an element of compute dtype.
struct ArgOps {
  // The record among the n contiguous elements at x, and where it stands.
  int64_t (*row)(const char* x, int64_t n, char* record);
  // Rows [first, first + n) of `width` lines side by side, n <= 100: after all rows before them.
  void (*columns)(const char* const* rows, int64_t n, int64_t first, int64_t width, char* records,
                  int64_t* positions);
  // Merges the records of n lines with those of their later parts.
  void (*merge)(char* records, int64_t* positions, const char* others,
                const int64_t* other_positions, int64_t n);
  int64_t record_size;
};

// Walks ReduceArgs with an op's pieces; Note [Reductions].
void run_reduce(const ReduceArgs& args, const ReduceOps& ops);
void run_arg(const ArgArgs& args, const ArgOps& ops);

}  // namespace tt::cpu
