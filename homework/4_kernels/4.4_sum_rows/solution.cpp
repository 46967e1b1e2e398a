#include <cstdint>

void sum_rows(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t r = 0; r < rows; ++r, x += size) {
    float part[8] = {};
    int64_t i = 0;
    for (; i + 8 <= size; i += 8)
      for (int lane = 0; lane < 8; ++lane) part[lane] += x[i + lane];
    for (; i < size; ++i) part[i % 8] += x[i];
    for (int half = 4; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
    y[r] = part[0];
  }
}
