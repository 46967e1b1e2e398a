#include "../glue.h"

__global__ void matmul(const uint16_t* a, const uint16_t* b, float* c, int k, int n);

TASK(const uint16_t* a, const uint16_t* b, float* c, int m, int k, int n) {
  const dim3 grid(n / 8, m / 16), warp(32);
  return glue::fault_of([=] { launch<matmul>({grid, warp}, a, b, c, k, n); });
}
