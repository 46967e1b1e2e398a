// Lists of arrays in one call: scaled, clamped, averaged with others, and their norms.
//
// As in optim.h, all arrays of a chunk have one dtype and one dense layout; `param` is written.
#pragma once
#include "cpu/optim.h"

namespace tt::cpu {

struct ScaleArgs {
  double factor;
};
struct ClampArgs {
  double low, high;
};
struct LerpArgs {  // param moves towards grad by the share `weight`
  double weight;
};

// Norms are summed in blocks of at most this many elements, of one array each.
constexpr int64_t kNormBlock = 4096;
struct Block {
  const void* data;
  int64_t n;
  bool single;  // float32, else float64
};
enum class Power { One, Two, Infinity };

struct ForeachTable {
  Steps<ScaleArgs> scale;
  Steps<ClampArgs> clamp;
  Steps<LerpArgs> lerp;
  // out[i] = sum |x|^power of block i; max |x| for Infinity
  void (*sums)(const Block* blocks, int64_t count, Power power, double* out);
};

namespace v2 {
extern const ForeachTable foreach_table;
}
namespace v3 {
extern const ForeachTable foreach_table;
}
namespace v4 {
extern const ForeachTable foreach_table;
}
namespace base {
extern const ForeachTable foreach_table;
}

}  // namespace tt::cpu
