// Arrays whose dims are resampled one by one, each by a linear map: means of windows,
// interpolation.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// The linear map of a dim, as LinearAxis (core/tables/resample.h) has it.
struct AxisMap {
  int64_t in, out;
  std::vector<int64_t> begin, source;
  std::vector<double> weight, divisor;  // empty: all 1

  AxisMap(int64_t in, int64_t out) : in(in), out(out), begin{0} {}
  // What was added to `source` and `weight` since the last call is an output's.
  void end_output() { begin.push_back(static_cast<int64_t>(source.size())); }
};

// Throws if the system lacks the memory of what resample(x, ...) makes of spatial sizes `size`, and
// of maps from `in` to `out` that have so many sources, before any of them is made.
void expect_tables(const NDArray& x, const Dims& size, const Dims& in, const Dims& out,
                   double sources, bool weights = false);

// x of shape (N, C, *) or (C, *), with a map for each spatial dim. The maps are given as of y's
// outputs by x's inputs; transposed they take y to x, with every sum's divisor, which is the
// gradient. Half dtypes are computed in float32.
NDArray resample(const NDArray& x, std::vector<AxisMap>&& axes, bool transposed,
                 bool channels_last);

}  // namespace tt
