// Sorting of lines, and selection by order. NaN is the largest, and of equal elements the first
// comes first.
#pragma once
#include "core/lines.h"

namespace tt {

struct SortTable {
  // Streams x, values and positions (int64), of lines that are not empty; all but sort give only
  // some of a line's elements.
  void (*sort)(const Lines&, bool descending);
  void (*topk)(const Lines&, int64_t k, bool largest);
  void (*kthvalue)(const Lines&, int64_t k);  // counted from 0
  void (*median)(const Lines&, bool ignore_nan);
  void (*mode)(const Lines&);
};

}  // namespace tt
