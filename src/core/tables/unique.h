// Elements, or rows, that occur again.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace tt {

// Equal rows of a contiguous matrix are a group; `consecutive`: if nothing else is between them.
struct UniqueArgs {
  DType dtype;
  const char* x;
  int64_t rows, width;
  bool consecutive;
  int64_t* inverse;  // the group of each row, or null
  // Of the groups, in their order, of which there may be as many as rows: their first elements, or
  // where their first rows stand (int64); and their sizes, or null.
  char* first;
  int64_t* sizes;
};

struct UniqueTable {
  // The number of groups: of elements (width is 1), or of rows, told by where the first ones stand.
  int64_t (*unique)(const UniqueArgs&);
  int64_t (*unique_rows)(const UniqueArgs&);
};

}  // namespace tt
