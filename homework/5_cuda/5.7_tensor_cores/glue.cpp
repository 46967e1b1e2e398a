#include "../glue.h"

__global__ void matmul(const uint16_t* a, const uint16_t* b, float* c, int k, int n);

TASK(const uint16_t* a, const uint16_t* b, float* c, int m, int k, int n) {
  const Grid grid{{n / 8, m / 16}, 32};
  return glue::fault_of([=] { launch<matmul>(grid, a, b, c, k, n); });
}
