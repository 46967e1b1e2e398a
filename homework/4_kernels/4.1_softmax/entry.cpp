// What call.py calls of a student's file.
#include STUDENT

ENTRY void softmax_float32(const float* x, float* y, int64_t rows, int64_t size) {
  softmax<float>(x, y, rows, size);
}
ENTRY void softmax_float64(const double* x, double* y, int64_t rows, int64_t size) {
  softmax<double>(x, y, rows, size);
}
