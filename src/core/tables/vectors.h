// Products of vectors.
#pragma once
#include "core/lines.h"

namespace tt {

struct VectorsTable {
  void (*cross)(const Lines&);  // x, y, out: lines of 3 elements of one dtype, not bool
};

}  // namespace tt
