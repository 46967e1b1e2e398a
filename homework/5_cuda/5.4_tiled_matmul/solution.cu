constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int first = 0; first < k; first += kTile) {
    a_tile[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
    b_tile[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
    __syncthreads();  // the tiles are there
    for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();  // all have done with them
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
