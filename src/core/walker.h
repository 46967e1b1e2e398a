// Steps through the row-major positions of a shape, with one offset per set of strides.
#pragma once
#include "core/dims.h"

namespace tt {

template <int kStreams>
class Walker {
 public:
  // Starts at `position`, which must be below the number of elements unless that is never used.
  Walker(const Dims& shape, const Dims (&strides)[kStreams], int64_t position = 0)
      : shape_(shape), index_(shape.size(), 0) {
    for (int k = 0; k < kStreams; ++k) strides_[k] = strides[k];
    for (int d = shape.size() - 1; d >= 0; --d) {
      if (shape[d] == 0) return;
      index_[d] = position % shape[d];
      position /= shape[d];
      for (int k = 0; k < kStreams; ++k) offsets_[k] += index_[d] * strides_[k][d];
    }
  }

  int64_t offset(int stream = 0) const { return offsets_[stream]; }
  // Positions left in the current run of the last dim, and that run's stride.
  int64_t run() const { return shape_.empty() ? 1 : shape_.back() - index_.back(); }
  int64_t run_stride(int stream = 0) const { return shape_.empty() ? 0 : strides_[stream].back(); }

  void advance(int64_t n = 1) {  // n <= run()
    int d = shape_.size() - 1;
    if (d < 0) return;
    index_[d] += n;
    for (int k = 0; k < kStreams; ++k) offsets_[k] += n * strides_[k][d];
    for (; d > 0 && index_[d] == shape_[d]; --d) {
      for (int k = 0; k < kStreams; ++k)
        offsets_[k] += strides_[k][d - 1] - shape_[d] * strides_[k][d];
      index_[d] = 0;
      ++index_[d - 1];
    }
  }

 private:
  Dims shape_, index_;
  Dims strides_[kStreams];
  int64_t offsets_[kStreams] = {};
};

}  // namespace tt
