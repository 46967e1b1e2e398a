#include <cmath>
#include <cstdint>

template <class T>
void layer_norm(const T* x, const T* weight, const T* bias, T* y, T* mean, T* scale, int64_t rows,
                int64_t size, double eps) {
  for (int64_t r = 0; r < rows; ++r, x += size, y += size) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < size; ++i) sum += x[i];
    const double middle = sum / size;
    for (int64_t i = 0; i < size; ++i) squares += (x[i] - middle) * (x[i] - middle);
    const double factor = 1 / std::sqrt(squares / size + eps);
    for (int64_t i = 0; i < size; ++i) {
      const double value = (x[i] - middle) * factor * (weight ? weight[i] : 1);
      y[i] = static_cast<T>(value + (bias ? bias[i] : 0));
    }
    mean[r] = static_cast<T>(middle);
    scale[r] = static_cast<T>(factor);
  }
}
