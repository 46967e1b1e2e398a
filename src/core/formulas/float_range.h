// Where sums of squares in float can be trusted.
#pragma once
#include "core/devices/host_device.h"

namespace tt {
namespace {  // Note [No weak symbols]

// Whether a variance that was found in float may be far from the true one: squares have overflowed,
// or are too small to be normal numbers.
TT_HOST_DEVICE inline bool is_out_of_range(double variance) {
  return !(variance > 0x1p-90 && variance < 0x1p110);
}

}  // namespace
}  // namespace tt
