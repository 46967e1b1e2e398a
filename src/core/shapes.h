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
// Of a stack of matrices: all dims but those.
inline Dims leading(const Dims& dims) {
  Dims batch;
  for (int i = 0; i + 2 < dims.size(); ++i) batch.push_back(dims[i]);
  return batch;
}
// Of one result for each line along a dim.
inline Dims reduced(Dims shape, int dim, bool keepdim) {
  if (!keepdim) return without(shape, dim);
  shape[dim] = 1;
  return shape;
}

}  // namespace tt
