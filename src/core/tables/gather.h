// Elements by their positions along a dim, and by tensors of positions.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"

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
  bool is_dense;                   // x has all elements from its first to its last
  char *x, *other;
  const char* index;  // int64
};
enum class Place : int { Set, Add, Multiply, Maximum, Minimum };

struct GatherTable {
  // other = x[positions]; false where one is outside: then only some have been read.
  bool (*pick)(const AlongArgs&);
  // x[positions] = other, or combined with it: in order along the dim. False where a position is
  // outside: then only some have been written, as in PyTorch.
  bool (*place)(const AlongArgs&, Place);
  bool (*inside)(const AlongArgs&);
  // offsets[k] (+)= position k * stride; false where one is outside. For indices of any layout.
  bool (*offsets)(int64_t* offsets, bool first, const Dims& shape, const Dims& strides,
                  const char* index, int64_t size, int64_t stride);
};

}  // namespace tt
