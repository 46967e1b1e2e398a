#include "cpu/losses.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/backend.h"
#include "core/gil.h"
#include "core/kernels/reduce.h"
#include "cpu/scratch.h"

namespace tt::cpu {

namespace {

// ---------------------------------------------------------------------- sums without a temporary
template <class T>
void total_of(Kernel kernel, const Operand* inputs, int count, bool mean, char* out) {
  constexpr int64_t kBlock = kTotalBlock;
  const NDArray& first = *as_array(inputs[0]);
  const DType dtype = first.dtype();
  const ReduceKernel sum =
      cpu_backend().reduce->kernels[static_cast<int>(Reduce::sum)][static_cast<int>(dtype)];
  const int64_t n = first.numel(), blocks = (n + kBlock - 1) / kBlock;
  const int64_t shares = std::min<int64_t>(blocks, num_threads());
  const NDArray scratch = NDArray::empty({shares, kBlock}, dtype);
  std::vector<T> sums(blocks);
  parallel_for(shares, 1, [&](int64_t begin, int64_t end) {
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
        const NDArray block = part(scratch, share * kBlock);
        kernel(Iter(block, operands, count, dtype, dtype));
        sum({block.data(),
             dtype,
             dtype,
             reinterpret_cast<char*>(&sums[b]),
             {},
             {},
             {size},
             {sizeof(T)}});
      }
  });
  for (int64_t step = 1; step < blocks; step *= 2)
    for (int64_t b = 0; b + step < blocks; b += 2 * step) sums[b] += sums[b + step];
  write<T>(out, mean ? sums[0] / static_cast<T>(n) : sums[0]);
}

void total(Kernel kernel, const Operand* inputs, int count, bool mean, char* out) {
  const WithoutGil unlocked(true);
  as_array(inputs[0])->dtype() == DType::Float32
      ? total_of<float>(kernel, inputs, count, mean, out)
      : total_of<double>(kernel, inputs, count, mean, out);
}

// ------------------------------------------------------------------------------ multilabel margin
template <class T>
void margin(const MarginArgs& a) {
  const int64_t classes = a.classes;
  const WithoutGil unlocked(a.rows * classes > kGrain);
  parallel_with_scratch(
      a.rows, 1 + kGrain / (8 * classes + 1), classes,
      [&](int64_t begin, int64_t end, char* is_target) {
        for (int64_t row = begin; row < end; ++row) {
          const T* const x = reinterpret_cast<const T*>(a.x) + row * classes;
          const int64_t* const targets = a.targets + row * classes;
          const int64_t count = std::find(targets, targets + classes, -1) - targets;
          std::fill_n(is_target, classes, 0);
          for (int64_t k = 0; k < count; ++k) is_target[targets[k]] = 1;
          // body(j, i, 1 - (x[j] - x[i]))
          auto for_each_pair = [&](auto&& body) {
            for (int64_t k = 0; k < count; ++k)
              for (int64_t i = 0; i < classes; ++i)
                if (!is_target[i]) body(targets[k], i, 1 - x[targets[k]] + x[i]);
          };
          T* const out = reinterpret_cast<T*>(a.out);
          if (!a.grad) {
            T sum = 0;
            for_each_pair([&](int64_t, int64_t, T margin) { sum += std::max(T(0), margin); });
            out[row] = sum / static_cast<T>(classes);
          } else {
            const T share = reinterpret_cast<const T*>(a.grad)[row] / static_cast<T>(classes);
            T* const dx = out + row * classes;
            for_each_pair([&](int64_t j, int64_t i, T margin) {
              if (margin > 0) dx[j] -= share, dx[i] += share;
            });
          }
        }
      });
}

void multilabel_margin(const MarginArgs& a) {
  a.dtype == DType::Float32 ? margin<float>(a) : margin<double>(a);
}

}  // namespace

const LossTable loss_table = {total, multilabel_margin, ctc, ctc_backward};

}  // namespace tt::cpu
