// Task 4.3: a sum with broadcasting.
#include <cstdint>

// out[i, j, ...] = x[i, j, ...] + y[i, j, ...]: one shape, and strides in elements of each.
void add(const float* x, const float* y, float* out, int dims, const int64_t* shape,
         const int64_t* x_strides, const int64_t* y_strides, const int64_t* out_strides) {
#error "NotImplementedError: task 4.3: a sum with broadcasting"
}
