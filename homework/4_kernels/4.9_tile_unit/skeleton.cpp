// Task 4.9: a product on a tile unit.
#include <cstdint>
#include <vector>

// C = A B: A is (m, k), B is (k, n), of bfloat16; C is (m, n). All dense, in row-major order.
void matmul(const uint16_t* a, const uint16_t* b, float* c, int64_t m, int64_t k, int64_t n) {
#error "NotImplementedError: task 4.9: a product on a tile unit"
}
