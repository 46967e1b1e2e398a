// Sorting of lines, selection by order, and what is found among elements in order. NaN is the
// largest, and of equal elements the first comes first.
#pragma once
#include "core/lines.h"

namespace tt {

// Of the boundaries in line `row` of (rows, size), how many come before each of the values in line
// `row` of (rows, each). All are contiguous.
struct SearchArgs {
  DType dtype;  // of boundaries and values: any but bool
  int64_t rows, size, each;
  const char *boundaries, *values;
  const char* order;  // (int64) in which a line's boundaries ascend, or null
  bool right;         // those that equal the value come before it, too
  bool int32;         // else int64
  char* out;
};

// Whether each element of x (not) equals one of the others. All are contiguous.
struct IsinArgs {
  DType dtype;
  const char *x, *others;
  int64_t n, count;  // elements of both
  bool invert;
  bool* out;
};

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

struct OrderTable {
  // Streams x, values and positions (int64), of lines that are not empty; all but sort give only
  // some of a line's elements.
  void (*sort)(const Lines&, bool descending);
  void (*topk)(const Lines&, int64_t k, bool largest);
  void (*kthvalue)(const Lines&, int64_t k);  // counted from 0
  void (*median)(const Lines&, bool ignore_nan);
  void (*mode)(const Lines&);
  void (*searchsorted)(const SearchArgs&);
  void (*isin)(const IsinArgs&);
  // The number of groups: of elements (width is 1), or of rows, told by where the first ones stand.
  int64_t (*unique)(const UniqueArgs&);
  int64_t (*unique_rows)(const UniqueArgs&);
};

}  // namespace tt
