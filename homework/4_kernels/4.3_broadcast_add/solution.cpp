#include <cstdint>

void add_row(const float* x, const float* y, float* out, int64_t size, int64_t x_step,
             int64_t y_step, int64_t out_step) {
  if (x_step == 1 && y_step == 1 && out_step == 1) {
    for (int64_t i = 0; i < size; ++i) out[i] = x[i] + y[i];
    return;
  }
  for (int64_t i = 0; i < size; ++i) out[i * out_step] = x[i * x_step] + y[i * y_step];
}

void add(const float* x, const float* y, float* out, int dims, const int64_t* shape,
         const int64_t* x_strides, const int64_t* y_strides, const int64_t* out_strides) {
  if (dims == 0) return add_row(x, y, out, 1, 1, 1, 1);
  const int64_t xs = x_strides[0], ys = y_strides[0], os = out_strides[0];
  if (dims == 1) return add_row(x, y, out, shape[0], xs, ys, os);
  for (int64_t i = 0; i < shape[0]; ++i)
    add(x + i * xs, y + i * ys, out + i * os, dims - 1, shape + 1, x_strides + 1, y_strides + 1,
        out_strides + 1);
}
