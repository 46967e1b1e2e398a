// Arrays of one shape seen as lines along one dim, for the kernels that walk them: Note [Lines].
#pragma once
#include "core/lines.h"
#include "core/ndarray.h"

namespace tt {

// The arrays' shape is `shape`; the last `outputs` of them are written. Dims that are laid out as
// one in all of them become one, so that as many lines as possible stand side by side.
inline Lines lines_of(const Dims& shape, int dim, DType compute,
                      std::initializer_list<const NDArray*> arrays, int outputs = 1) {
  Lines lines;
  lines.compute = compute;
  lines.size = shape[dim];
  lines.outputs = outputs;
  for (const NDArray* array : arrays) {
    LineStream& stream = lines.stream[lines.streams++];
    stream.data = array->data();
    stream.dtype = array->dtype();
    stream.step = array->strides()[dim] * static_cast<int64_t>(itemsize(array->dtype()));
  }
  for (int d = 0; d < shape.size(); ++d) {
    if (d == dim || shape[d] == 1) continue;
    lines.count *= shape[d];
    bool merges = !lines.shape.empty();
    int64_t strides[Lines::kMaxStreams];
    int s = 0;
    for (const NDArray* array : arrays) {
      strides[s] = array->strides()[d] * static_cast<int64_t>(itemsize(array->dtype()));
      merges = merges && lines.stream[s].strides.back() == strides[s] * shape[d];
      ++s;
    }
    if (merges) {
      const int last = lines.shape.size() - 1;
      lines.shape[last] *= shape[d];
      for (s = 0; s < lines.streams; ++s) lines.stream[s].strides[last] = strides[s];
    } else {
      lines.shape.push_back(shape[d]);
      for (s = 0; s < lines.streams; ++s) lines.stream[s].strides.push_back(strides[s]);
    }
  }
  for (int s = lines.streams; s < Lines::kMaxStreams; ++s)
    lines.stream[s].strides = Dims(lines.shape.size(), 0);
  return lines;
}

}  // namespace tt
