#include "cpu/random/draws.h"

#include "cpu/infra/walk.h"

namespace tt::cpu {

std::vector<int> memory_order(int n, int ndim, const int64_t* shape,
                              const int64_t* const* strides) {
  const auto compare = [&](int a, int b) {
    for (int k = 0; k < n; ++k) {
      const int64_t* stride = strides[k];
      if (stride[a] == 0 || stride[b] == 0) continue;
      if (stride[a] != stride[b]) return stride[a] < stride[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  std::vector<int> order;
  for (int dim = ndim - 1; dim >= 0; --dim) order.push_back(dim);
  for (int i = 1; i < ndim; ++i) {
    int moving = i;
    for (int at = i - 1; at >= 0; --at) {
      const int sign = compare(order[at], order[moving]);
      if (sign < 0) break;  // a tie keeps looking further in
      if (sign > 0) std::swap(order[at], order[std::exchange(moving, at)]);
    }
  }
  return order;
}

void for_each_row(int count, const Strided* const* arrays, const Row& row) {
  const Strided& out = *arrays[0];
  const int64_t total = numel(out);
  if (total == 0) return;
  const int64_t* strides[kMostArrays];
  for (int k = 0; k < count; ++k) strides[k] = arrays[k]->strides;
  struct {
    int count = 0, ndim = 0;
    int64_t shape[kMaxDims];
    Iter::Entry operands[kMostArrays];
  } nest;
  nest.count = count;
  for (int k = 0; k < count; ++k) nest.operands[k].data = static_cast<char*>(arrays[k]->data);
  const auto stride = [&](int k, int dim) {
    return strides[k][dim] * static_cast<int64_t>(itemsize(arrays[k]->dtype));
  };
  for (int dim : memory_order(count, out.ndim, out.shape, strides)) {
    if (out.shape[dim] == 1) continue;
    const int last = nest.ndim - 1;
    bool dense = last >= 0;
    for (int k = 0; k < count && dense; ++k)
      dense = stride(k, dim) == nest.shape[last] * nest.operands[k].strides[last];
    if (dense) {
      nest.shape[last] *= out.shape[dim];
      continue;
    }
    nest.shape[nest.ndim] = out.shape[dim];
    for (int k = 0; k < count; ++k) nest.operands[k].strides[nest.ndim] = stride(k, dim);
    ++nest.ndim;
  }
  if (nest.ndim == 0) {
    nest.shape[nest.ndim++] = 1;
    for (int k = 0; k < count; ++k) nest.operands[k].strides[0] = 0;
  }
  walk(nest, 0, total, total, row);
}

}  // namespace tt::cpu
