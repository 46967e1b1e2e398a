__global__ void axpy(float a, const float* x, float* y, int n) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  const int step = gridDim.x * blockDim.x;
  for (int i = first; i < n; i += step) y[i] += a * x[i];
}
