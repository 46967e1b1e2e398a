constexpr int kThreads = 64;  // a query each
constexpr int kSize = 32;     // of a head
constexpr int kTile = 32;     // keys in shared memory

__global__ void attention(const float* q, const float* k, const float* v, float* out, int queries,
                          int keys, float scale) {
  __shared__ float k_tile[kTile][kSize], v_tile[kTile][kSize];
  const int query = blockIdx.x * kThreads + threadIdx.x, head = blockIdx.y;
  q += (head * queries + query) * kSize;
  out += (head * queries + query) * kSize;
  k += head * keys * kSize;
  v += head * keys * kSize;

  float mine[kSize], sums[kSize] = {}, most = -INFINITY, total = 0;
  for (int d = 0; d < kSize; ++d) mine[d] = query < queries ? q[d] * scale : 0;
  for (int first = 0; first < keys; first += kTile) {
    const int count = min(kTile, keys - first);
    for (int i = threadIdx.x; i < count * kSize; i += kThreads) {
      k_tile[i / kSize][i % kSize] = k[first * kSize + i];
      v_tile[i / kSize][i % kSize] = v[first * kSize + i];
    }
    __syncthreads();  // the tile is there
    for (int j = 0; j < count; ++j) {
      float score = 0;
      for (int d = 0; d < kSize; ++d) score += mine[d] * k_tile[j][d];
      const float before = most;
      most = max(most, score);
      const float shrink = expf(before - most), weight = expf(score - most);
      total = total * shrink + weight;
      for (int d = 0; d < kSize; ++d) sums[d] = sums[d] * shrink + weight * v_tile[j][d];
    }
    __syncthreads();  // all have done with it
  }
  if (query >= queries) return;
  for (int d = 0; d < kSize; ++d) out[d] = sums[d] / total;
}
