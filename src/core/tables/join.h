// Rows side by side.
#pragma once
#include <cstdint>

namespace tt {

// Rows of `out`, which consist of rows of each part, side by side.
struct JoinArgs {
  static constexpr int kParts = 16;
  int64_t rows, out_row;  // bytes from one row of `out` to the next
  int count;
  const char* parts[kParts];
  int64_t bytes[kParts];  // in a row of the part; parts are contiguous
  char* out;
};

struct JoinTable {
  void (*join)(const JoinArgs&);
};

}  // namespace tt
