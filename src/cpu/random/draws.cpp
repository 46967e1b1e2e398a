#include "cpu/random/draws.h"

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

void for_each_row(int n, int ndim, const int64_t* shape, const int64_t* const* strides,
                  const Row& row) {
  struct Dim {
    int64_t size;
    int64_t strides[4];
    int64_t index;
  };
  std::vector<Dim> dims;
  for (int from : memory_order(n, ndim, shape, strides)) {
    Dim dim{shape[from], {}, 0};
    for (int k = 0; k < n; ++k) dim.strides[k] = strides[k][from];
    if (dim.size == 0) return;
    if (dim.size == 1) continue;
    bool dense = !dims.empty();
    for (int k = 0; k < n && dense; ++k)
      dense = dim.strides[k] == dims.back().size * dims.back().strides[k];
    if (dense)
      dims.back().size *= dim.size;
    else
      dims.push_back(dim);
  }
  if (dims.empty()) dims.push_back({1, {1, 1, 1, 1}, 0});
  int64_t offsets[4] = {};
  for (;;) {
    row(offsets, dims[0].size, dims[0].strides);
    size_t d = 1;
    for (; d < dims.size(); ++d) {  // the odometer: carry into the next dim
      for (int k = 0; k < n; ++k) offsets[k] += dims[d].strides[k];
      if (++dims[d].index < dims[d].size) break;
      for (int k = 0; k < n; ++k) offsets[k] -= dims[d].size * dims[d].strides[k];
      dims[d].index = 0;
    }
    if (d == dims.size()) return;
  }
}

}  // namespace tt::cpu
