constexpr int kThreads = 256;

__global__ void scan_blocks(const float* x, float* y, float* totals, int n) {
  __shared__ float sums[kThreads];
  const int thread = threadIdx.x, i = blockIdx.x * kThreads + thread;
  sums[thread] = i < n ? x[i] : 0;
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const float before = thread >= distance ? sums[thread - distance] : 0;
    __syncthreads();  // all have read
    sums[thread] += before;
    __syncthreads();  // all have written
  }
  if (i < n) y[i] = sums[thread];
  if (thread == kThreads - 1) totals[blockIdx.x] = sums[thread];
}

__global__ void add_offsets(float* y, const float* sums, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.x > 0 && i < n) y[i] += sums[blockIdx.x - 1];
}
