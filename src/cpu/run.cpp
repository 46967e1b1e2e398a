#include "cpu/run.h"

#include <algorithm>

#include "core/gil.h"
#include "cpu/parallel.h"

namespace tt::cpu {

namespace {

// One row of up to kBlock elements whose operands need conversion.
struct Converter {
  const Iter& iter;
  Loop loop;
  alignas(64) char scratch[Iter::kMaxOperands][kBlock * 8];

  bool needs(int k) const {
    return iter.operands[k].dtype != (k == 0 ? iter.result : iter.compute);
  }

  void operator()(char* const* data, const int64_t* strides, int64_t n) {
    char* at[Iter::kMaxOperands];
    int64_t steps[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      at[k] = data[k];
      steps[k] = strides[k];
      if (!needs(k)) continue;
      const DType dtype = k == 0 ? iter.result : iter.compute;
      at[k] = scratch[k];
      steps[k] = itemsize(dtype);
      if (k == 0) continue;
      if (strides[k] == 0) steps[k] = 0;
      char* const from_to[] = {scratch[k], data[k]};
      const int64_t from_to_strides[] = {steps[k], strides[k]};
      conversion(iter.operands[k].dtype, dtype)(from_to, from_to_strides, steps[k] ? n : 1);
    }
    loop(at, steps, n);
    if (!needs(0)) return;
    char* const from_to[] = {data[0], scratch[0]};
    const int64_t from_to_strides[] = {strides[0], steps[0]};
    conversion(iter.result, iter.operands[0].dtype)(from_to, from_to_strides, n);
  }
};

// Calls row(data, strides, n) for the elements [begin, end) of the iteration order.
template <class Row>
void walk(const Iter& iter, int64_t begin, int64_t end, int64_t longest, Row&& row) {
  int64_t index[kMaxDims], strides[Iter::kMaxOperands];
  char* data[Iter::kMaxOperands];
  int64_t rest = begin;
  for (int d = 0; d < iter.ndim; ++d) {
    index[d] = rest % iter.shape[d];
    rest /= iter.shape[d];
  }
  for (int k = 0; k < iter.count; ++k) {
    strides[k] = iter.operands[k].strides[0];
    data[k] = iter.operands[k].data;
    for (int d = 0; d < iter.ndim; ++d) data[k] += index[d] * iter.operands[k].strides[d];
  }
  while (begin < end) {
    const int64_t n = std::min({iter.shape[0] - index[0], end - begin, longest});
    row(data, strides, n);
    begin += n;
    index[0] += n;
    for (int k = 0; k < iter.count; ++k) data[k] += n * strides[k];
    for (int d = 0; d + 1 < iter.ndim && index[d] == iter.shape[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      for (int k = 0; k < iter.count; ++k)
        data[k] += iter.operands[k].strides[d + 1] - iter.shape[d] * iter.operands[k].strides[d];
    }
  }
}

}  // namespace

void run(const Iter& iter, Loop loop) {
  if (iter.numel == 0) return;
  bool converts = iter.operands[0].dtype != iter.result;
  for (int k = 1; k < iter.count; ++k) converts |= iter.operands[k].dtype != iter.compute;
  if (!converts && iter.ndim == 1 && iter.numel <= kGrain) {
    char* data[Iter::kMaxOperands];
    int64_t strides[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      data[k] = iter.operands[k].data;
      strides[k] = iter.operands[k].strides[0];
    }
    loop(data, strides, iter.numel);
    return;
  }
  const WithoutGil unlocked(iter.numel > kGrain);
  parallel_for(iter.numel, kGrain, [&](int64_t begin, int64_t end) {
    if (converts)
      walk(iter, begin, end, kBlock, Converter{iter, loop, {}});
    else
      walk(iter, begin, end, iter.numel, loop);
  });
}

}  // namespace tt::cpu
