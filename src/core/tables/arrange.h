// Copies in another order: reversed, one triangle of each matrix, repeated.
#pragma once
#include "core/dims.h"

namespace tt {

struct ArrangeTable {
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
};

}  // namespace tt
