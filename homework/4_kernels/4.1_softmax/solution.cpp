#include <algorithm>
#include <cmath>
#include <cstdint>

template <class T>
void softmax(const T* x, T* y, int64_t rows, int64_t size) {
  for (int64_t r = 0; r < rows; ++r, x += size, y += size) {
    if (size == 0) continue;
    T most = x[0], sum = 0;
    for (int64_t i = 1; i < size; ++i) most = std::max(most, x[i]);
    for (int64_t i = 0; i < size; ++i) {
      y[i] = std::exp(x[i] - most);
      sum += y[i];
    }
    for (int64_t i = 0; i < size; ++i) y[i] /= sum;
  }
}
