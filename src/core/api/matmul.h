// Matrix products with torch.matmul's rules of shape.
#pragma once
#include "core/ndarray.h"

namespace tt {

// 1-d operands are rows or columns and lose that dim again; leading dims broadcast. `bias`, where
// given, is 1-d and added to every row. `out`: core/result.h. A product of two matrices may be
// added to `total`, which is then the answer, and lies nowhere where the others do.
NDArray matmul(const NDArray& a, const NDArray& b, const NDArray* bias = nullptr,
               const NDArray* out = nullptr, const NDArray* total = nullptr);

// The same, as the kernels' definition has it.
NDArray matmul_naive(const NDArray& a, const NDArray& b, const NDArray* bias = nullptr);

// Whether products of float32 from here on may be of numbers rounded to TF32, on devices that have
// it. At first they may not.
void set_matmul_tf32(bool may);

}  // namespace tt
