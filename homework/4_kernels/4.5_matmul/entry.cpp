// What call.py calls of a student's file.
#include STUDENT

ENTRY void matmul_entry(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
                        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col) {
  matmul(a, b, c, m, k, n, a_row, a_col, b_row, b_col);
}
