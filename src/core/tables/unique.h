// Elements, or rows, that occur again.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// Equal rows of a contiguous matrix are a group; `consecutive`: if nothing else is between them.
struct UniqueArgs {
  DType dtype;
  const char* x;
  int64_t rows, width;
  bool consecutive;
  int64_t* inverse;  // the group of each row, or null
  // For each group in order (there may be as many as rows): its first element, or where its first
  // row stands (int64); and its size, or null.
  char* first;
  int64_t* sizes;
};

struct UniqueTable {
  // The number of groups: of elements (width is 1), or of rows, told by where the first ones stand.
  int64_t (*unique)(const UniqueArgs&);
  int64_t (*unique_rows)(const UniqueArgs&);
};

}  // namespace tt
