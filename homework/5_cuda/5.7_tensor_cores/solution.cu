// Two halves in a word, the first in its lower bits.
__device__ unsigned word_of(uint16_t first, uint16_t second) {
  return first | unsigned{second} << 16;
}

__global__ void matmul(const uint16_t* a, const uint16_t* b, float* c, int k, int n) {
  const int quad = threadIdx.x / 4, in_quad = threadIdx.x % 4;
  const int row = blockIdx.y * 16, column = blockIdx.x * 8;
  float sums[4] = {};
  for (int first = 0; first < k; first += 16) {
    unsigned of_a[4], of_b[2];
    for (int r = 0; r < 4; ++r) {
      const int i = row + quad + r % 2 * 8, p = first + (in_quad + r / 2 * 4) * 2;
      of_a[r] = word_of(a[i * k + p], a[i * k + p + 1]);
    }
    for (int r = 0; r < 2; ++r) {
      const int p = first + (in_quad + r * 4) * 2, j = column + quad;
      of_b[r] = word_of(b[p * n + j], b[(p + 1) * n + j]);
    }
    mma<Half>(sums, of_a, of_b);
  }
  for (int r = 0; r < 4; ++r) {
    const int i = row + quad + r / 2 * 8, j = column + in_quad * 2 + r % 2;
    c[i * n + j] = sums[r];
  }
}
