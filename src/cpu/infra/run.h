// How a kernel's inner loop is driven over an Iter: rows, threads, and conversions.
#pragma once
#include "core/devices/backend.h"
#include "core/iter.h"

namespace tt::cpu {

// One row: `n` elements; data[0] is written, data[1..] are read; strides in bytes.
using Loop = void (*)(char* const* data, const int64_t* strides, int64_t n);

// Calls `loop` over all rows of `iter`, in parallel above the grain. What it sees are elements of
// iter.compute (the output: iter.result), side by side, or one input element with stride 0. Other
// operands pass through a scratch block of kBlock elements.
void run(const Iter& iter, Loop loop);
// As that, of rows of halves, but one element is still of iter.compute.
void run(const Iter& iter, Loop loop, DType half);
// The rows as they are, which need no conversion.
void run_rows(const Iter& iter, Loop loop);
// Whether all operands are of a dtype, or one number of iter.compute.
bool is_all(const Iter& iter, DType dtype);
constexpr int64_t kBlock = 1024;

// out[i] = x[i], converted.
Loop conversion(DType from, DType to);

// n elements of a row to another place, by a conversion; strides in bytes.
inline void convert_line(Loop by, char* to, int64_t to_stride, const char* from,
                         int64_t from_stride, int64_t n) {
  char* const data[] = {to, const_cast<char*>(from)};
  const int64_t strides[] = {to_stride, from_stride};
  by(data, strides, n);
}

}  // namespace tt::cpu
