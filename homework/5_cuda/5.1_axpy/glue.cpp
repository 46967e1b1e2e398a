#include "../glue.h"

__global__ void axpy(float a, const float* x, float* y, int n);

TASK(float a, const float* x, float* y, int n, int blocks, int threads) {
  return glue::fault_of([=] { launch<axpy>({blocks, threads}, a, x, y, n); });
}
