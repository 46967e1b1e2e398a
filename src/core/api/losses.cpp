#include "core/api/losses.h"

#include <algorithm>
#include <optional>

#include "core/api/copy.h"
#include "core/api/elementwise.h"
#include "core/api/reduce.h"
#include "core/gil.h"
#include "core/with_type.h"
#include "cpu/parallel.h"

namespace tt {

namespace {

// ---------------------------------------------------------------------- sums without a temporary
constexpr int64_t kBlock = 16384;  // four of the reductions' chunks: a whole branch of their tree

template <class T>
NDArray total_in_blocks(Kernel kernel, const Operand* inputs, int count, bool mean) {
  const NDArray& first = *as_array(inputs[0]);
  const DType dtype = first.dtype();
  const ReduceKernel sum =
      cpu_backend().reduce.kernels[static_cast<int>(Reduce::sum)][static_cast<int>(dtype)];
  const int64_t n = first.numel(), blocks = (n + kBlock - 1) / kBlock;
  const int64_t shares = std::min<int64_t>(blocks, cpu::num_threads());
  const NDArray scratch = NDArray::empty({shares, kBlock}, dtype);
  std::vector<T> sums(blocks);
  {
    const WithoutGil unlocked(true);
    cpu::parallel_for(shares, 1, [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share)
        for (int64_t b = blocks * share / shares; b < blocks * (share + 1) / shares; ++b) {
          const int64_t start = b * kBlock, size = std::min(kBlock, n - start);
          auto part = [&](const NDArray& of, int64_t offset) {
            return of.as_strided({size}, {1}, of.offset() + offset);
          };
          std::optional<NDArray> parts[3];
          Operand operands[3];
          for (int i = 0; i < count; ++i) {
            operands[i] = inputs[i];
            const NDArray* array = as_array(inputs[i]);
            if (!array || array->numel() == 1) continue;
            parts[i] = part(*array, start);
            operands[i] = &*parts[i];
          }
          const NDArray out = part(scratch, share * kBlock);
          kernel(Iter(out, operands, count, dtype, dtype));
          sum({out.data(),
               dtype,
               dtype,
               reinterpret_cast<char*>(&sums[b]),
               {},
               {},
               {size},
               {sizeof(T)}});
        }
    });
  }
  for (int64_t step = 1; step < blocks; step *= 2)
    for (int64_t b = 0; b + step < blocks; b += 2 * step) sums[b] += sums[b + step];
  return full({}, Scalar::of_double(mean ? sums[0] / static_cast<T>(n) : sums[0]), dtype);
}

// Large contiguous arrays of one shape and dtype (and numbers): what can be cut in blocks.
bool is_cut_in_blocks(const Operand* inputs, int count) {
  const NDArray& first = *as_array(inputs[0]);
  if (first.numel() <= kBlock || is_half(first.dtype()) || !is_floating(first.dtype()))
    return false;
  for (int i = 0; i < count; ++i) {
    const NDArray* array = as_array(inputs[i]);
    if (!array) continue;
    if (array->dtype() != first.dtype()) return false;
    if (array->ndim() == 0) continue;
    if (array->shape() != first.shape() || !array->is_contiguous()) return false;
  }
  return true;
}

NDArray total_of(const Kernel* kernels, const Operand* inputs, int count, bool mean) {
  const DType dtype = as_array(inputs[0])->dtype();
  const Kernel kernel = kernels[static_cast<int>(dtype)];
  return dtype == DType::Float32 ? total_in_blocks<float>(kernel, inputs, count, mean)
                                 : total_in_blocks<double>(kernel, inputs, count, mean);
}

NDArray reduced(const NDArray& loss, bool mean) {
  return reduce(mean ? Reduce::mean : Reduce::sum, loss, std::nullopt, false, std::nullopt);
}

// ------------------------------------------------------------------------------ multilabel margin
template <class Body>
void with_float(const char* name, DType dtype, const Body& body) {
  if (dtype == DType::Float32) return body(float{});
  if (dtype == DType::Float64) return body(double{});
  throw NotImplementedError("[", name, "] is not implemented for ", dtype, " on cpu");
}

template <class T>
T* data_of(const NDArray& array) {
  return reinterpret_cast<T*>(array.data());
}

// Calls body(row, the targets before the first -1, their number, per class whether it is one).
template <class Body>
void for_each_row_of_labels(const NDArray& x, const NDArray& targets, const Body& body) {
  const int64_t rows = x.shape()[0], classes = x.shape()[1];
  const auto* all = data_of<int64_t>(targets);
  for (int64_t i = 0; i < rows * classes; ++i)
    if (all[i] < -1 || all[i] >= classes)
      throw RuntimeError("[multilabel_margin_loss] target ", all[i], " is out of range");
  const WithoutGil unlocked(x.numel() > cpu::kGrain);
  cpu::parallel_for(rows, 1 + cpu::kGrain / (8 * classes + 1), [&](int64_t begin, int64_t end) {
    std::vector<char> is_target(classes);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t* labels = all + row * classes;
      const int64_t count = std::find(labels, labels + classes, -1) - labels;
      std::fill(is_target.begin(), is_target.end(), 0);
      for (int64_t k = 0; k < count; ++k) is_target[labels[k]] = 1;
      body(row, labels, count, is_target.data());
    }
  });
}

}  // namespace

NDArray total_of(Binary op, const NDArray& x, const NDArray& y, bool mean) {
  const Operand inputs[] = {&x, &y};
  if (!is_cut_in_blocks(inputs, 2)) return reduced(binary(op, &x, &y), mean);
  return total_of(cpu_backend().elementwise.binary[static_cast<int>(op)], inputs, 2, mean);
}

NDArray total_of(Ternary op, const NDArray& x, const NDArray& y, const Operand& z, bool mean) {
  const Operand inputs[] = {&x, &y, z};
  if (!is_cut_in_blocks(inputs, 3)) return reduced(ternary(op, &x, &y, z), mean);
  return total_of(cpu_backend().elementwise.ternary[static_cast<int>(op)], inputs, 3, mean);
}

NDArray multilabel_margin(const NDArray& x, const NDArray& targets) {
  const NDArray input = contiguous(x), labels = contiguous(targets);
  const int64_t classes = x.shape()[1];
  const NDArray loss = NDArray::empty({x.shape()[0]}, x.dtype());
  with_float("multilabel_margin_loss", x.dtype(), [&](auto type) {
    using T = decltype(type);
    for_each_row_of_labels(
        input, labels, [&](int64_t row, const int64_t* targets, int64_t count, const char* skip) {
          const T* values = data_of<T>(input) + row * classes;
          T sum = 0;
          for (int64_t k = 0; k < count; ++k)
            for (int64_t i = 0; i < classes; ++i)
              if (!skip[i]) sum += std::max(T(0), 1 - values[targets[k]] + values[i]);
          data_of<T>(loss)[row] = sum / static_cast<T>(classes);
        });
  });
  return loss;
}

NDArray multilabel_margin_backward(const NDArray& grad, const NDArray& x, const NDArray& targets) {
  const NDArray input = contiguous(x), labels = contiguous(targets), grads = contiguous(grad);
  const int64_t classes = x.shape()[1];
  const NDArray dx = full(x.shape(), Scalar::of_int(0), x.dtype());
  with_float("multilabel_margin_loss", x.dtype(), [&](auto type) {
    using T = decltype(type);
    for_each_row_of_labels(
        input, labels, [&](int64_t row, const int64_t* targets, int64_t count, const char* skip) {
          const T* values = data_of<T>(input) + row * classes;
          T* to = data_of<T>(dx) + row * classes;
          const T share = data_of<T>(grads)[row] / static_cast<T>(classes);
          for (int64_t k = 0; k < count; ++k)
            for (int64_t i = 0; i < classes; ++i)
              if (!skip[i] && 1 - values[targets[k]] + values[i] > 0) {
                to[targets[k]] -= share;
                to[i] += share;
              }
        });
  });
  return dx;
}

}  // namespace tt
