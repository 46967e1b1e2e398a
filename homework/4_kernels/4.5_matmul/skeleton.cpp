// Task 4.5: a product of matrices.
#include <cstdint>

// C = A B: A is (m, k), B is (k, n), with strides in elements; C is (m, n), dense, in row-major
// order.
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
            int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col) {
#error "NotImplementedError: task 4.5: a product of matrices"
}
