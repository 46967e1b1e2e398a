#include <cstdint>

void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
            int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
      c[i * n + j] = sum;
    }
}
