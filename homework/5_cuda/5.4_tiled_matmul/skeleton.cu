// Task 5.4: a product of matrices by tiles in shared memory.

// C = A B: A is (m, k), B is (k, n), C is (m, n), all dense, in row-major order. A block of
// (16, 16) threads for each tile of C: row 16 blockIdx.y + threadIdx.y, column 16 blockIdx.x +
// threadIdx.x.
__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
#error "NotImplementedError: task 5.4: a product of matrices by tiles in shared memory"
}
