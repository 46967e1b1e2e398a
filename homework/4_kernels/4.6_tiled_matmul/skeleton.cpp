// Task 4.6: a product of matrices in tiles.
#include <cstdint>

// C = A B: A is (m, k), B is (k, n), C is (m, n), all dense, in row-major order.
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
#error "NotImplementedError: task 4.6: a product of matrices in tiles"
}
