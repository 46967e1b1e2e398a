// Scans: what has been seen so far along a dim.
#pragma once
#include "core/dims.h"
#include "core/dtypes/dtype.h"

namespace tt {

// x seen as (outer, size, inner), the scanned dim in the middle; no dim is empty. Results are
// contiguous. Sums and products see halves as they are, and add them in float32.
struct ScanArgs {
  DType dtype;
  int64_t outer, size, inner;
  const char* x;
  Dims strides;         // of x, in bytes
  char* out;            // of dtype
  int64_t* indices;     // where the extreme stands; maximum and minimum only
  const char* factors;  // contiguous, of dtype; linear only
  bool reverse;         // from the end: sum and linear only
};

struct ScanTable {
  void (*sum)(const ScanArgs&);
  void (*product)(const ScanArgs&);
  void (*logsumexp)(const ScanArgs&);  // floating point
  void (*maximum)(const ScanArgs&);
  void (*minimum)(const ScanArgs&);
  void (*linear)(const ScanArgs&);  // floating point
};

}  // namespace tt
