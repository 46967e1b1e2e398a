// Task 4.4: sums in a fixed order.
#include <cstdint>

// y[r] = the sum of row r of x, (rows, size), in the order that the page names: eight partial sums.
void sum_rows(const float* x, float* y, int64_t rows, int64_t size) {
#error "NotImplementedError: task 4.4: sums in a fixed order"
}
