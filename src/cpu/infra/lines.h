// How softmax and its like walk lines: contiguous rows, columns side by side, or through scratch.
#pragma once
#include "core/lines.h"

namespace tt::cpu {

// How some lines that are neighbours are computed; elements are of dtype `compute`. The first
// line's number is `position`.
struct LineKernels {
  // data[k] + r * steps[k] + i elements: element i of line r of stream k, of up to `most_rows`
  // lines.
  using Rows = void (*)(const void* args, char* const* data, const int64_t* steps, int64_t position,
                        int64_t count);
  Rows rows;
  int64_t most_rows;
  // data[k] + i * steps[k]: element i of stream k of all the lines, side by side.
  void (*columns[2])(const void* args, char* const* data, const int64_t* steps, int64_t position);
  int64_t width[2];  // lines that each of those takes, many and few; kNever where there is none
  static constexpr int64_t kNever = INT64_MAX;
  Rows halves[2] = {};  // as rows, of elements that are all float16, or all bfloat16
};

// Calls the kernels for all lines, in parallel above `grain` elements. Lines whose elements are
// strided or of another dtype pass through scratch memory; all kernels must give the same bits.
// `group` lines at a time are one thread's, in order.
void run_lines(const Lines& lines, const LineKernels& kernels, const void* args, int64_t grain,
               int64_t group = 1);

// The first `parts` times `size` elements of each line, as `parts` lines. (Not inline: what may
// throw is not built per instruction set.)
Lines in_parts(const Lines& lines, int64_t size, int64_t parts);

}  // namespace tt::cpu
