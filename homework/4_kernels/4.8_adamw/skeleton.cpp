// Task 4.8: AdamW in one pass.
#include <cmath>
#include <cstdint>

// A step of AdamW for one parameter of `size` elements; param, average and square are changed.
// step_size = lr / (1 - beta1^t) and root = sqrt(1 - beta2^t) correct the averages' bias.
void adamw(float* param, const float* grad, float* average, float* square, int64_t size, double lr,
           double beta1, double beta2, double eps, double weight_decay, double step_size,
           double root) {
#error "NotImplementedError: task 4.8: AdamW in one pass"
}
