constexpr int kThreads = 256;

__global__ void sum_rows(const float* x, float* y, int size) {
  __shared__ float parts[kThreads];
  const int thread = threadIdx.x;
  const float* row = x + int64_t{blockIdx.x} * size;
  float part = 0;
  for (int i = thread; i < size; i += kThreads) part += row[i];
  parts[thread] = part;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread] += parts[thread + half];
    __syncthreads();
  }
  if (thread == 0) y[blockIdx.x] = parts[0];
}
