constexpr int kThreads = 256;

__device__ float larger(float a, float b) { return a > b ? a : b; }
__device__ float sum(float a, float b) { return a + b; }

// What `combine` makes of the values of all threads, to each of them.
__device__ float of_block(float value, float (*combine)(float, float)) {
  __shared__ float values[kThreads];
  const int thread = threadIdx.x;
  __syncthreads();  // the result of an earlier call has been read
  values[thread] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) values[thread] = combine(values[thread], values[thread + half]);
    __syncthreads();
  }
  return values[0];
}

__global__ void softmax(const float* x, float* y, int size) {
  x += int64_t{blockIdx.x} * size;
  y += int64_t{blockIdx.x} * size;
  float most = -INFINITY, total = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) most = larger(most, x[i]);
  most = of_block(most, larger);
  for (int i = threadIdx.x; i < size; i += kThreads) total += expf(x[i] - most);
  total = of_block(total, sum);
  for (int i = threadIdx.x; i < size; i += kThreads) y[i] = expf(x[i] - most) / total;
}
