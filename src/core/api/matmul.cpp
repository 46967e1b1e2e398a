#include "core/api/matmul.h"

#include <atomic>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/result.h"
#include "core/shapes.h"
#include "core/tables/matmul.h"

namespace tt {

namespace {

std::atomic<bool> may_be_tf32{false};

// The leading dims of a stack of matrices, broadcast to `batch`, as strides.
Dims batch_strides(const NDArray& x, const Dims& batch) {
  Dims strides(batch.size(), 0);
  const int own = x.ndim() - 2, lead = batch.size() - own;
  for (int i = 0; i < own; ++i)
    if (x.shape()[i] != 1) strides[lead + i] = x.strides()[i];
  return strides;
}

// All rows of a stack of matrices.
int64_t rows_of(const NDArray& x) {
  return checked_numel(without(x.shape(), x.ndim() - 1), "matmul");
}

[[noreturn]] void refuse_dtypes(const NDArray& a, const NDArray& b, const NDArray* bias) {
  if (bias)
    throw RuntimeError("mat1 and mat2 must have the same dtype, but got ", type_name(a.dtype()),
                       " and ", type_name(a.dtype() != b.dtype() ? b.dtype() : bias->dtype()));
  if (b.ndim() > 2)
    throw RuntimeError("expected scalar type ", type_name(a.dtype()), " but found ",
                       type_name(b.dtype()));
  throw RuntimeError("expected m1 and m2 to have the same dtype, but got: ", cpp_name(a.dtype()),
                     " != ", cpp_name(b.dtype()));
}

// Refuses a (..., m, k) and b (..., other than k, n): as matrices, and as they were given.
[[noreturn]] void refuse_shapes(const NDArray& left, const NDArray& right, const NDArray& a,
                                const NDArray& b) {
  const int64_t k = a.shape().back(), other = right.shape()[right.ndim() - 2];
  if (a.ndim() == 1 && b.ndim() == 1)
    throw RuntimeError("inconsistent tensor size, expected tensor ", a.shape(), " and src ",
                       b.shape(), " to have the same number of elements, but got ", k, " and ",
                       other, " elements respectively");
  const Dims batch = broadcast(leading(left.shape()), leading(right.shape()));
  if (b.ndim() > 2) {
    const int64_t stack = checked_numel(batch, "matmul");
    throw RuntimeError("Expected size for first two dimensions of batch2 tensor to be: [", stack,
                       ", ", k, "] but got: [", stack, ", ", other, "].");
  }
  const int64_t m = rows_of(left);
  if (b.ndim() == 1)
    throw RuntimeError("size mismatch, got input (", m, "), mat (", m, "x", k, "), vec (", other,
                       ")");
  throw RuntimeError("mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ", other, "x",
                     b.shape()[1], ")");
}

using Kernels = MatmulKernel[kDTypes];

NDArray product(const Kernels& kernels, const NDArray& a, const NDArray& b, const NDArray* bias,
                const NDArray* out, const NDArray* total) {
  if (a.ndim() == 0 || b.ndim() == 0)
    throw RuntimeError("both arguments to matmul need to be at least 1D, but they are ", a.ndim(),
                       "D and ", b.ndim(), "D");
  if (a.dtype() != b.dtype() || (bias && bias->dtype() != a.dtype())) refuse_dtypes(a, b, bias);
  if (total && (a.ndim() != 2 || b.ndim() != 2 || total->dtype() != a.dtype() ||
                total->shape() != Dims{a.shape()[0], b.shape()[1]}))
    throw RuntimeError("matmul: a product of ", a.shape(), " and ", b.shape(),
                       " cannot be added to ", total->shape());
  const MatmulKernel kernel = kernels[static_cast<int>(a.dtype())];
  if (is_half(a.dtype()) && !kernel) {
    const std::optional<NDArray> wide = prepared(bias, DType::Float32);
    const auto in_float = [&] {  // whose copies of a and b are gone before there is a result
      return product(kernels, astype(a, DType::Float32), astype(b, DType::Float32),
                     wide ? &*wide : nullptr, nullptr, nullptr);
    };
    const NDArray result = astype(in_float(), a.dtype(), out);
    return total ? binary(Binary::add, total, &result, total) : result;
  }
  if (a.ndim() > 2 && b.ndim() == 2 && a.shape()[a.ndim() - 2] == 1) {
    // One row each against one matrix: together they are a matrix, and `b` is read once.
    const int64_t count = checked_numel(leading(a.shape()), "matmul"), n = b.shape()[1];
    const Dims rows = joined(leading(a.shape()), {1, n});
    const std::optional<NDArray> flat =
        out && out->shape() == rows ? out->try_view({count, n}) : std::nullopt;
    const NDArray stacked = product(kernels, reshape(a, {count, a.shape().back()}), b, bias,
                                    flat ? &*flat : nullptr, nullptr);
    return flat && stacked.data() == flat->data() ? *out : stacked.view(rows);
  }
  const NDArray left = a.ndim() == 1 ? a.unsqueeze(0) : a;
  const NDArray right = b.ndim() == 1 ? b.unsqueeze(1) : b;
  const Dims &ls = left.shape(), &rs = right.shape();
  const int l = left.ndim(), r = right.ndim();
  if (ls[l - 1] != rs[r - 2]) refuse_shapes(left, right, a, b);
  const Dims batch = broadcast(leading(ls), leading(rs));
  const int64_t m = ls[l - 2], k = ls[l - 1], n = rs[r - 1];
  if (bias && (bias->ndim() != 1 || bias->shape()[0] != n))
    throw RuntimeError("The expanded size of the tensor (", n, ") must match the existing size (",
                       bias->ndim() ? bias->shape().back() : 1,
                       ") at non-singleton dimension 1.  Target sizes: [", rows_of(left), ", ", n,
                       "].  Tensor sizes: ", bias->shape());

  const Dims shape = joined(batch, {m, n});
  Dims result_shape = batch;
  if (a.ndim() > 1) result_shape.push_back(m);
  if (b.ndim() > 1) result_shape.push_back(n);
  const bool nothing = k == 0 && !bias;
  if (nothing && !total)  // sums of nothing, which bool has, too
    return new_full(a, result_shape, Scalar::of_bool(false), a.dtype());
  // With rows that lie across memory the sums of the transposed product, which are others.
  const bool rows = out && (out->ndim() < 2 || out->strides().back() == 1);
  NDArray result = total ? *total
                         : strided_result_in(rows ? out : nullptr, result_shape, a.dtype(),
                                             a.device(), {&a, &b, bias});
  if (!nothing && result.numel() > 0) {
    const NDArray c = result_shape == shape ? result : result.view(shape);
    if (!kernel)
      throw NotImplementedError("\"addmm_impl_cpu_\" not implemented for '", type_name(a.dtype()),
                                "'");
    const Dims lb = batch_strides(left, batch), rb = batch_strides(right, batch);
    const WithoutGil unlocked(double(c.numel()) * double(std::max<int64_t>(k, 1)) > 65536);
    launch(a)(kernel, MatmulArgs{m,
                                 n,
                                 k,
                                 left.data(),
                                 right.data(),
                                 c.data(),
                                 left.strides()[l - 2],
                                 left.strides()[l - 1],
                                 right.strides()[r - 2],
                                 right.strides()[r - 1],
                                 c.strides()[shape.size() - 2],
                                 c.strides()[shape.size() - 1],
                                 batch.size(),
                                 batch.begin(),
                                 lb.begin(),
                                 rb.begin(),
                                 c.strides().begin(),
                                 total != nullptr,
                                 data_of(bias),
                                 bias ? bias->strides()[0] : 0,
                                 may_be_tf32.load(std::memory_order_relaxed)});
  }
  if (total) total->mark_written();
  return result;
}

}  // namespace

NDArray matmul(const NDArray& a, const NDArray& b, const NDArray* bias, const NDArray* out,
               const NDArray* total) {
  return product(backend_of(a).matmul->product, a, b, bias, out, total);
}

NDArray matmul_naive(const NDArray& a, const NDArray& b, const NDArray* bias) {
  return product(backend_of(a).matmul->naive, a, b, bias, nullptr, nullptr);
}

void set_matmul_tf32(bool may) { may_be_tf32 = may; }

}  // namespace tt
