// What call.py calls of a student's file.
#include STUDENT

#define ENTRY(name, type)                                                                    \
  extern "C" __attribute__((visibility("default"))) void name(                               \
      const type* x, const type* weight, const type* bias, type* y, type* mean, type* scale, \
      int64_t rows, int64_t size, double eps) {                                              \
    layer_norm<type>(x, weight, bias, y, mean, scale, rows, size, eps);                      \
  }
ENTRY(layer_norm_float32, float)
ENTRY(layer_norm_float64, double)
