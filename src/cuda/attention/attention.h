// AttentionArgs by value, for the kernels of attention.
#pragma once
#include "core/tables/attention.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

enum Array { kQ, kK, kV, kOut, kGrad, kQGrad, kKGrad, kVGrad, kMask, kArrays };

template <class T>
struct Matrix {
  T* data;
  int64_t row, column;

  __device__ T& at(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};

// For halves, the mask and all sums are floats.
template <class T>
struct Attention {
  using Sum = SumOf<T>;

  int64_t heads, queries, keys, width, value_width;
  Positions<kArrays> batch;
  Matrix<T> arrays[kMask];
  Matrix<Sum> masks;
  Sum* log_sums;
  Sum scale;
  bool causal;

  explicit Attention(const AttentionArgs& a)
      : heads(1),
        queries(a.queries),
        keys(a.keys),
        width(a.width),
        value_width(a.value_width),
        batch{},
        masks{reinterpret_cast<Sum*>(a.mask.data), a.mask.row, a.mask.column},
        log_sums(reinterpret_cast<Sum*>(a.log_sums)),
        scale(static_cast<Sum>(a.scale)),
        causal(a.causal) {
    const Matrices* const all[kArrays] = {&a.q,      &a.k,      &a.v,      &a.out, &a.grad,
                                          &a.q_grad, &a.k_grad, &a.v_grad, &a.mask};
    batch.ndim = a.batch.size();
    for (int d = 0; d < batch.ndim; ++d) {
      heads *= batch.shape[d] = a.batch[d];
      for (int k = 0; k < kArrays; ++k) batch.strides[k][d] = all[k]->data ? all[k]->batch[d] : 0;
    }
    for (int k = 0; k < kMask; ++k)
      arrays[k] = {reinterpret_cast<T*>(all[k]->data), all[k]->row, all[k]->column};
  }

  __device__ Matrix<T> of_head(Array array, int64_t head) const {
    const Matrix<T>& all = arrays[array];
    return {all.data + batch.offset(array, head), all.row, all.column};
  }
  __device__ Matrix<Sum> mask_of(int64_t head) const {
    if (!masks.data) return masks;
    return {masks.data + batch.offset(kMask, head), masks.row, masks.column};
  }

  // The score of a query and a key, from the product of them; -inf where the key may not be seen.
  __device__ Sum score(const Matrix<Sum>& mask, Sum scaled_product, int64_t query,
                       int64_t key) const {
    if (query >= queries || key >= keys || (causal && key > query)) return -INFINITY;
    return mask.data ? scaled_product + mask.at(query, key) : scaled_product;
  }
  // Behind the last key that one of the queries before `end` may see.
  __device__ int64_t keys_seen(int64_t end) const { return causal && end < keys ? end : keys; }
};

}  // namespace

// On tensor cores (tensor.cu), where there are enough rows of few enough columns: answers whether
// it has. `dots`: (heads, queries), the sums of grad * out.
template <class T>
bool attend_on_tensor_cores(const AttentionArgs& args);
template <class T>
bool attend_backward_on_tensor_cores(const AttentionArgs& args, const float* dots);

}  // namespace tt::cuda
