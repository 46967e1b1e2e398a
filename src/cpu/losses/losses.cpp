#include "core/tables/losses.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/devices/gil.h"
#include "core/iter.h"
#include "core/tables/reduce.h"
#include "cpu/infra/scratch.h"
#include "cpu/reduce/driver.h"

namespace tt::cpu {

namespace {

// ---------------------------------------------------------------------- sums without a temporary
// Memory that an argument points to, as an array of one dim.
NDArray array_at(char* data, int64_t numel, DType dtype) {
  const size_t bytes = static_cast<size_t>(numel) * itemsize(dtype);
  return NDArray(
      Ref<Storage>(new Storage(data, bytes, [](void*) {}, nullptr)), {numel}, {1}, 0, dtype);
}

template <class T>
void total_of(const TotalArgs& a) {
  constexpr int64_t kBlock = kTotalBlock;
  const DType dtype = a.dtype;
  const ReduceKernel sum =
      cpu_backend().reduce->kernels[static_cast<int>(Reduce::sum)][static_cast<int>(dtype)];
  const int64_t n = a.numel, blocks = (n + kBlock - 1) / kBlock;
  const int64_t shares = std::min<int64_t>(blocks, num_threads());
  const NDArray scratch = NDArray::empty({shares, kBlock}, dtype, cpu_device());
  std::optional<NDArray> arrays[TotalArgs::kMaxInputs];
  for (int i = 0; i < a.count; ++i)
    if (a.inputs[i].data) arrays[i] = array_at(a.inputs[i].data, a.inputs[i].single ? 1 : n, dtype);
  // The losses of block b, in the memory of a share.
  const auto losses_of = [&](int64_t b, int64_t share) {
    const int64_t start = b * kBlock, size = std::min(kBlock, n - start);
    auto part = [&](const NDArray& of, int64_t offset) {
      return of.as_strided({size}, {1}, of.offset() + offset);
    };
    std::optional<NDArray> parts[TotalArgs::kMaxInputs];
    Operand operands[TotalArgs::kMaxInputs];
    for (int i = 0; i < a.count; ++i) {
      operands[i] = a.inputs[i].number;
      if (!arrays[i]) continue;
      if (!a.inputs[i].single) parts[i] = part(*arrays[i], start);
      operands[i] = a.inputs[i].single ? &*arrays[i] : &*parts[i];
    }
    NDArray block = part(scratch, share * kBlock);
    a.kernel(Iter(block, operands, a.count, dtype, dtype));
    return block;
  };
  std::vector<T> sums(blocks);
  parallel_for(shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share)
      for (int64_t b = blocks * share / shares; b < blocks * (share + 1) / shares; ++b) {
        const NDArray block = losses_of(b, share);
        sum({block.data(),
             dtype,
             dtype,
             reinterpret_cast<char*>(&sums[b]),
             {},
             {},
             block.shape(),
             {sizeof(T)}});
      }
  });
  for (int64_t step = 1; step < blocks; step *= 2)
    for (int64_t b = 0; b + step < blocks; b += 2 * step) sums[b] += sums[b + step];
  T answer = a.mean ? sums[0] / static_cast<T>(n) : sums[0];
  if (!__builtin_isfinite(answer)) {  // once more, so that no sum overflows on the way
    double total = 0;
    for (int64_t b = 0; b < blocks && total == total; ++b) {
      const NDArray block = losses_of(b, 0);
      for (int64_t i = 0; i < block.numel(); ++i)
        total += static_cast<double>(reinterpret_cast<const T*>(block.data())[i]) * kDown;
    }
    answer = static_cast<T>((a.mean ? total / static_cast<double>(n) : total) / kDown);
  }
  write<T>(a.out, answer);
}

void total(const TotalArgs& a) {
  const WithoutGil unlocked(true);
  a.dtype == DType::Float32 ? total_of<float>(a) : total_of<double>(a);
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
            double sum = 0;
            for_each_pair([&](int64_t, int64_t, T margin) { sum += std::max(T(0), margin); });
            out[row] = static_cast<T>(sum / static_cast<double>(classes));
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

extern const LossesTable losses_table = {total, multilabel_margin};

}  // namespace tt::cpu
