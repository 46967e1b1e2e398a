// Box-Muller on float32, in blocks of 16: uniforms u[0..8) and u[8..16) become 16 normals in place.
#pragma once
#include <cstdint>

namespace tt::cpu {

struct BoxMullerTable {
  void (*f32)(float* u, int64_t blocks, float mean, float std);
};

// The table of the instruction set that was chosen at import.
const BoxMullerTable& box_muller();

}  // namespace tt::cpu
