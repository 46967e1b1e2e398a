#include <algorithm>
#include <cstdint>

constexpr int64_t kRows = 3, kColumns = 32;  // of a tile: its sums stay in registers
constexpr int64_t kDepth = 256;              // rows of B that are read before C is written

// C[rows, columns] += A[rows, depth] B[depth, columns], of matrices with rows of k and n floats.
void whole_tile(const float* a, const float* b, float* c, int64_t depth, int64_t k, int64_t n) {
  float sum[kRows][kColumns] = {};
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) sum[i][j] += a[i * k + p] * b[p * n + j];
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) c[i * n + j] += sum[i][j];
}

void part_of_tile(const float* a, const float* b, float* c, int64_t depth, int64_t k, int64_t n,
                  int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t j = 0; j < columns; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
}

void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  std::fill(c, c + m * n, 0.0f);
  for (int64_t p = 0; p < k; p += kDepth)
    for (int64_t j = 0; j < n; j += kColumns)
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t depth = std::min(kDepth, k - p);
        const int64_t rows = std::min(kRows, m - i), columns = std::min(kColumns, n - j);
        const float *from = a + i * k + p, *with = b + p * n + j;
        float* to = c + i * n + j;
        if (rows == kRows && columns == kColumns)
          whole_tile(from, with, to, depth, k, n);
        else
          part_of_tile(from, with, to, depth, k, n, rows, columns);
      }
}
