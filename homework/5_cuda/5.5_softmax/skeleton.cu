// Task 5.5: softmax of rows, a block each.

// y[r, i] = exp(x[r, i] - max of row r) / the sum of these in row r: a block of 256 threads for
// each row of x (rows, size).
__global__ void softmax(const float* x, float* y, int size) {
#error "NotImplementedError: task 5.5: softmax of rows, a block each"
}
