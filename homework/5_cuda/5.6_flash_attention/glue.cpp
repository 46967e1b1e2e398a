#include "../glue.h"

__global__ void attention(const float* q, const float* k, const float* v, float* out, int queries,
                          int keys, float scale);

TASK(const float* q, const float* k, const float* v, float* out, int heads, int queries, int keys,
     float scale) {
  const Grid grid{{glue::blocks_of(queries, 64), heads}, 64};
  return glue::fault_of([=] { launch<attention>(grid, q, k, v, out, queries, keys, scale); });
}
