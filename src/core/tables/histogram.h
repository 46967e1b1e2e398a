// Counting elements by where they lie.
#pragma once
#include "core/dtypes/dtype.h"

namespace tt {

// How many elements of x, or what of their weights, lie in each bin between ascending edges, the
// last of which belongs to the last bin. All are contiguous and of one dtype.
struct HistogramArgs {
  DType dtype;  // float32 or float64
  const char* x;
  const char* weights;  // or null
  int64_t n;
  const char* edges;  // one more than there are bins
  int64_t bins;
  bool uniform, exact;  // bins are found by their width, and checked against the edges
  char* out;
};

struct HistogramTable {
  // counts[x[i]] += 1, of int64 x below `size`.
  void (*count)(const char* x, int64_t n, int64_t* counts, int64_t size);
  void (*histogram)(const HistogramArgs&);
};

}  // namespace tt
