#include "../glue.h"

__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n);

TASK(const float* a, const float* b, float* c, int m, int k, int n) {
  const Grid grid{{glue::blocks_of(n, 16), glue::blocks_of(m, 16)}, {16, 16}};
  return glue::fault_of([=] { launch<matmul>(grid, a, b, c, m, k, n); });
}
