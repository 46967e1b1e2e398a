#include "../glue.h"

__global__ void attention(const float* q, const float* k, const float* v, float* out, int queries,
                          int keys, float scale);

TASK(const float* q, const float* k, const float* v, float* out, int heads, int queries, int keys,
     float scale) {
  const dim3 grid(glue::blocks_of(queries, 64), heads), block(64);
  return glue::fault_of(
      [=] { launch<attention>({grid, block}, q, k, v, out, queries, keys, scale); });
}
