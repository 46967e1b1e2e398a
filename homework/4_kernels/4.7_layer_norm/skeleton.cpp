// Task 4.7: layer norm in two passes.
#include <cmath>
#include <cstdint>

// y = (x - mean) * scale * weight + bias in each of the rows, scale = 1 / sqrt(variance + eps);
// weight and bias have `size` elements, or are null. mean and scale get a number per row.
template <class T>
void layer_norm(const T* x, const T* weight, const T* bias, T* y, T* mean, T* scale, int64_t rows,
                int64_t size, double eps) {
#error "NotImplementedError: task 4.7: layer norm in two passes"
}
