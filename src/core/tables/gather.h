// Elements by their positions: along a dim, by a mask, in reversed order, in a triangle.
#pragma once
#include "core/dims.h"
#include "core/dtype.h"

namespace tt {

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

// Rows of `out`, which consist of rows of each part, side by side.
struct JoinArgs {
  static constexpr int kParts = 16;
  int64_t rows, out_row;  // bytes from one row of `out` to the next
  int count;
  const char* parts[kParts];
  int64_t bytes[kParts];  // in a row of the part; parts are contiguous
  char* out;
};

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
  int64_t (*mask_count)(const MaskArgs&);  // fills `starts`; answers the total
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
  // The sum of `size` counts, `step` apart; -1 where one is negative, -2 where the sum overflows.
  int64_t (*total_count)(const int64_t* counts, int64_t step, int64_t size);
  // out = each k below `size`, as often as its count says.
  void (*repeat)(const int64_t* counts, int64_t step, int64_t size, int64_t* out);
  void (*join)(const JoinArgs&);
};

}  // namespace tt
