// What call.py calls of a student's file.
#include STUDENT

ENTRY void adamw_entry(float* param, const float* grad, float* average, float* square, int64_t size,
                       double lr, double beta1, double beta2, double eps, double weight_decay,
                       double step_size, double root) {
  adamw(param, grad, average, square, size, lr, beta1, beta2, eps, weight_decay, step_size, root);
}
