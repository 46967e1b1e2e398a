#include <cmath>
#include <cstdint>

void adamw(float* param, const float* grad, float* average, float* square, int64_t size, double lr,
           double beta1, double beta2, double eps, double weight_decay, double step_size,
           double root) {
  const auto shrink = static_cast<float>(1 - lr * weight_decay);
  const auto keep = static_cast<float>(beta2), share1 = static_cast<float>(1 - beta1);
  const auto share2 = static_cast<float>(1 - beta2), step = static_cast<float>(step_size);
  const auto over = static_cast<float>(root), least = static_cast<float>(eps);
  for (int64_t i = 0; i < size; ++i) {
    const float g = grad[i];
    average[i] += share1 * (g - average[i]);
    square[i] = keep * square[i] + share2 * g * g;
    const float denominator = std::sqrt(square[i]) / over + least;
    param[i] = shrink * param[i] - step * average[i] / denominator;
  }
}
