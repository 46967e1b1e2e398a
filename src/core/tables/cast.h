// Copies between any two dtypes.
#pragma once
#include "core/devices/backend.h"

namespace tt {

struct CastTable {
  Kernel copy;  // out = input, from iter.compute to iter.result
};

}  // namespace tt
