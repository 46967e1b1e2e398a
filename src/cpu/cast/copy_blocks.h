// Copies between layouts whose fastest dims are short: a block of these dims at a time.
#pragma once
#include "core/iter.h"

namespace tt::cpu {

// out = x of the same dtype, if there are such blocks; else answers false.
bool copy_in_blocks(const Iter& iter);

// Bytes that are written past the caches: more than they hold need not be read into them first.
constexpr int64_t kPastCaches = 16 << 20;

}  // namespace tt::cpu
