// Elements where a mask holds.
#pragma once
#include "core/dims.h"

namespace tt {

// Numbers of true elements in the blocks of a contiguous mask, and how many come before each.
struct MaskArgs {
  const char* mask;
  int64_t numel;
  int64_t* starts;  // one per block, and the total
};
constexpr int64_t kMaskBlock = 4096;

struct MasksTable {
  int64_t (*mask_count)(const MaskArgs&);  // fills `starts`; answers the total
  // out[d * total + k]: coordinate d of the k-th true element of a mask of this shape.
  void (*mask_positions)(const MaskArgs&, const Dims& shape, int64_t* out);
  void (*mask_pick)(const MaskArgs&, const char* x, char* out, int64_t item);    // out[k] = x[k-th]
  void (*mask_place)(const MaskArgs&, char* x, const char* from, int64_t item);  // the reverse
};

}  // namespace tt
