// Shapes and strides that are made of others.
#pragma once
#include "core/dims.h"

namespace tt {

inline Dims joined(Dims first, const Dims& second) {
  for (int64_t value : second) first.push_back(value);
  return first;
}
inline Dims without(Dims dims, int dim) {
  dims.erase(dim);
  return dims;
}
// A stack of matrices: all dims but the matrices' own.
inline Dims leading(const Dims& dims) {
  Dims batch;
  for (int i = 0; i + 2 < dims.size(); ++i) batch.push_back(dims[i]);
  return batch;
}
// The shape of one result for each line along a dim.
inline Dims reduced(Dims shape, int dim, bool keepdim) {
  if (!keepdim) return without(shape, dim);
  shape[dim] = 1;
  return shape;
}

}  // namespace tt
