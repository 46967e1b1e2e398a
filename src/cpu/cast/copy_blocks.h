// Copies between layouts whose fastest dims are short: a block of these dims at a time.
#pragma once
#include "core/iter.h"

namespace tt::cpu {

// out = x of the same dtype, if there are such blocks; else answers false.
bool copy_in_blocks(const Iter& iter);

}  // namespace tt::cpu
