#include "../glue.h"

__global__ void axpy(float a, const float* x, float* y, int n);

TASK(float a, const float* x, float* y, int n, int blocks, int threads) {
  const dim3 grid(blocks), block(threads);
  return glue::fault_of([=] { launch<axpy>({grid, block}, a, x, y, n); });
}
