// What call.py calls of a student's file.
#include STUDENT

#define LAYER_NORM(name, type)                                                              \
  ENTRY void name(const type* x, const type* weight, const type* bias, type* y, type* mean, \
                  type* scale, int64_t rows, int64_t size, double eps) {                    \
    layer_norm<type>(x, weight, bias, y, mean, scale, rows, size, eps);                     \
  }
LAYER_NORM(layer_norm_float32, float)
LAYER_NORM(layer_norm_float64, double)
