#include <algorithm>
#include <cstdint>
#include <vector>

constexpr int64_t kTile = 16, kBlock = 2 * kTile, kStep = 32;  // rows; of a block of C; along k

int64_t round_up(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

void matmul(const uint16_t* a, const uint16_t* b, float* c, int64_t m, int64_t k, int64_t n) {
  const int64_t rows = round_up(m, kBlock), columns = round_up(n, kBlock);
  const int64_t depth = round_up(k, kStep);
  std::vector<uint16_t> lines(rows * depth), pairs(depth * columns);
  for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * k, k, lines.begin() + i * depth);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) pairs[(p / 2 * columns + j) * 2 + p % 2] = b[p * n + j];
  for (int64_t i = 0; i < m; i += kBlock) {
    for (int64_t j = 0; j < n; j += kBlock) {
      for (int t = 0; t < 4; ++t) tile_zero(t);
      for (int64_t p = 0; p < depth; p += kStep) {
        const uint16_t* const of_a = lines.data() + i * depth + p;
        const uint16_t* const of_b = pairs.data() + (p / 2 * columns + j) * 2;
        tile_load(4, of_a, 2 * depth);
        tile_load(5, of_a + kTile * depth, 2 * depth);
        tile_load(6, of_b, 4 * columns);
        tile_load(7, of_b + 2 * kTile, 4 * columns);
        tile_dot(0, 4, 6);
        tile_dot(1, 4, 7);
        tile_dot(2, 5, 6);
        tile_dot(3, 5, 7);
      }
      float sums[kBlock][kBlock];
      for (int t = 0; t < 4; ++t)
        tile_store(t, &sums[t / 2 * kTile][t % 2 * kTile], sizeof sums[0]);
      for (int64_t row = 0; row < std::min(kBlock, m - i); ++row)
        std::copy_n(sums[row], std::min(kBlock, n - j), c + (i + row) * n + j);
    }
  }
}
