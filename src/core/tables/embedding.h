// Rows of a table by number, and what is made of several of them. Strides are in elements.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

enum class Bag : int { Sum, Mean, Max };

// Rows of a table, picked by number and put together in bags: entry k is row index[k], and bag b
// the entries from starts[b] up to starts[b + 1]. Entries of row `padding` do not count. Where
// there are no bags, an entry is a bag of its own, and all count.
struct BagArgs {
  DType dtype;  // of the table and of bag rows: float32, float64 or a half
  int64_t bags, entries, rows, columns;
  const int64_t* index;
  const int64_t* starts;  // or null
  int64_t padding;        // or -1
  Bag mode;
  const char* weights;  // per entry, contiguous, of `dtype`, or null
  int64_t* largest;     // (bags, columns) of Max: the rows that the elements are from, or -1
  // The table is read in forward; in backward its gradient is written, contiguous.
  char* table;
  int64_t table_row, table_column;
  // A row per bag: in forward written, contiguous; in backward its gradient is read.
  char* out;
  int64_t out_row;    // elements are side by side
  bool by_frequency;  // backward divides what goes to a row by how many entries it has
  bool accumulate;    // backward adds to what the table holds

  // Where a bag's entries start, and how many of them count.
  TT_HOST_DEVICE int64_t start(int64_t bag) const { return starts ? starts[bag] : bag; }
  TT_HOST_DEVICE int64_t entries_that_count(int64_t bag) const {
    int64_t count = 0;
    for (int64_t k = start(bag); k < start(bag + 1); ++k) count += index[k] != padding;
    return count;
  }
};

// Offsets of bags among `entries` indices; starts[bags] = entries is added. Valid are those that
// start at 0 and never decrease, beside indices in [0, rows).
struct BagStartArgs {
  const int64_t *offsets, *index;
  int64_t bags, entries, rows;
  int64_t* starts;  // (bags + 1)
};

struct EmbeddingTable {
  void (*bag_forward)(const BagArgs&);
  void (*bag_backward)(const BagArgs&);
  bool (*bag_starts)(const BagStartArgs&);  // whether they are valid
};

}  // namespace tt
