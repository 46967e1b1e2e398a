// The products of a call of the framework's matmul, one by one, for a student's function.
#pragma once
#include "core/tables/matmul.h"
#include "glue.h"

namespace glue {

// f(A's first element, B's, where to write A B, dense) for each pair of matrices.
template <class F>
void for_each_product(const tt::MatmulArgs& p, F f) {
  int64_t batches = 1;
  for (int d = 0; d < p.batch_ndim; ++d) batches *= p.batch_shape[d];
  const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
  const auto* bias = static_cast<const float*>(p.bias);
  auto* c = static_cast<float*>(p.c);
  const bool direct = !p.accumulate && !bias && p.c_col == 1 && p.c_row == p.n;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, to_a = 0, to_b = 0, to_c = 0;
    for (int d = p.batch_ndim - 1; d >= 0; rest /= p.batch_shape[d--]) {
      const int64_t i = rest % p.batch_shape[d];
      to_a += i * p.a_batch[d], to_b += i * p.b_batch[d], to_c += i * p.c_batch[d];
    }
    if (direct) {
      f(a + to_a, b + to_b, c + to_c);
      continue;
    }
    std::vector<float> product(p.m * p.n, std::numeric_limits<float>::quiet_NaN());
    f(a + to_a, b + to_b, product.data());
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        float& out = c[to_c + i * p.c_row + j * p.c_col];
        const float sum = product[i * p.n + j] + (p.accumulate ? out : 0);
        out = bias ? sum + bias[j * p.bias_stride] : sum;
      }
  }
}

}  // namespace glue
