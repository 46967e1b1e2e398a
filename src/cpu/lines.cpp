// Walks the lines of softmax and its like: contiguous rows as they are, columns side by side, and
// anything else through scratch memory.
#include <algorithm>

#include "core/gil.h"
#include "core/walker.h"
#include "cpu/norm.h"
#include "cpu/parallel.h"
#include "cpu/run.h"
#include "cpu/scratch.h"

namespace tt::cpu {

namespace {

constexpr int kStreams = Lines::kMaxStreams;
constexpr int64_t kFew = 16;              // shorter lines are better computed side by side
constexpr int64_t kMostPacked = 1 << 18;  // bytes of scratch memory that still are in the cache
constexpr int64_t kTogether = 8192;       // bytes of a stream that are computed at once

struct Walk {
  const Lines& lines;
  const LineKernels& kernels;
  const void* args;
  const int64_t item, few, group;  // bytes of an element; lines of the narrower kernel; of a group
  bool row_direct[kStreams];       // its lines are read and written where they are, one by one
  bool columns_direct[kStreams];   // or side by side
  bool sideways, packs;  // neighbours are taken together; some pass through scratch memory
  int64_t together;      // lines whose elements are neighbours, else

  Walk(const Lines& l, const LineKernels& k, const void* a, int64_t g)
      : lines(l), kernels(k), args(a), item(itemsize(l.compute)), few(k.width[1]), group(g) {
    bool rows = true, columns = true, adjacent = false;
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      const bool native = stream.dtype == lines.compute;
      const int64_t next = stream.strides.empty() ? 0 : stream.strides.back();
      row_direct[s] = native && (stream.step == item || lines.size == 1);
      columns_direct[s] = native && next == item;
      rows &= row_direct[s];
      columns &= columns_direct[s];
      adjacent |= next == static_cast<int64_t>(itemsize(stream.dtype));
    }
    const bool possible = few != LineKernels::kNever && !lines.shape.empty();
    const bool wanted = !rows && (adjacent || lines.size <= kFew);
    packs = !columns;
    sideways = possible && wanted && (columns || packed() * lines.streams <= kMostPacked);
    together = std::clamp<int64_t>(kTogether / padded(), 1, kernels.most_rows);
  }

  bool is_output(int s) const { return lines.has_output && s == lines.streams - 1; }
  int64_t padded() const { return (lines.size * item + 63) / 64 * 64; }
  int64_t packed() const { return few * item * lines.size; }
  int64_t scratch_bytes() const {
    int64_t bytes = 0;
    for (int s = 0; s < lines.streams; ++s) bytes += row_direct[s] ? 0 : padded() * together;
    if (!sideways) return bytes;
    const int64_t wide = packs ? packed() * (lines.streams + 1) : kernels.width[0] * padded();
    return std::max(bytes, wide);
  }

  void rows(char* const* at, const int64_t* next, int64_t position, int64_t count,
            char* scratch) const {
    char* data[kStreams] = {};
    int64_t steps[kStreams] = {};
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      data[s] = row_direct[s] ? at[s] : scratch;
      steps[s] = row_direct[s] ? next[s] : padded();
      if (row_direct[s]) continue;
      scratch += padded() * together;
      if (is_output(s)) continue;
      const Loop convert = conversion(stream.dtype, lines.compute);
      for (int64_t r = 0; r < count; ++r)
        convert_line(convert, data[s] + r * steps[s], item, at[s] + r * next[s], stream.step,
                     lines.size);
    }
    kernels.rows(args, data, steps, position, count);
    const int out = lines.streams - 1;
    if (!lines.has_output || row_direct[out]) return;
    const LineStream& stream = lines.stream[out];
    const Loop convert = conversion(lines.compute, stream.dtype);
    for (int64_t r = 0; r < count; ++r)
      convert_line(convert, at[out] + r * next[out], stream.step, data[out] + r * steps[out], item,
                   lines.size);
  }

  // `few` neighbouring lines, of which element i of each is copied next to those of the others.
  void pack(char* const* at, const int64_t* next, int64_t position, char* scratch) const {
    char* data[kStreams];
    int64_t steps[kStreams];
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      data[s] = columns_direct[s] ? at[s] : scratch;
      steps[s] = columns_direct[s] ? stream.step : few * item;
      if (columns_direct[s]) continue;
      scratch += packed();
      if (is_output(s)) continue;
      const Loop convert = conversion(stream.dtype, lines.compute);
      for (int64_t i = 0; i < lines.size; ++i)
        convert_line(convert, data[s] + i * steps[s], item, at[s] + i * stream.step, next[s], few);
    }
    kernels.columns[1](args, data, steps, position, scratch);
    const int out = lines.streams - 1;
    if (!lines.has_output || columns_direct[out]) return;
    const Loop convert = conversion(lines.compute, lines.stream[out].dtype);
    for (int64_t i = 0; i < lines.size; ++i)
      convert_line(convert, at[out] + i * lines.stream[out].step, next[out],
                   data[out] + i * steps[out], item, few);
  }

  void operator()(int64_t begin, int64_t end, char* scratch) const {
    const Dims strides[kStreams] = {lines.stream[0].strides, lines.stream[1].strides,
                                    lines.stream[2].strides};
    int64_t steps[kStreams], next[kStreams];
    for (int s = 0; s < kStreams; ++s) {
      steps[s] = lines.stream[s].step;
      next[s] = strides[s].empty() ? 0 : strides[s].back();
    }
    Walker<kStreams> walker(lines.shape, strides, begin);
    while (begin < end) {
      char* at[kStreams];
      for (int s = 0; s < lines.streams; ++s) at[s] = lines.stream[s].data + walker.offset(s);
      const int64_t run = std::min(walker.run(), end - begin);
      int64_t n = std::min(run, together);
      if (group > 1) n = std::min(n, group - begin % group);
      if (!sideways || run < few) {
        rows(at, next, begin, n, scratch);
      } else if (packs) {
        n = few;
        pack(at, next, begin, scratch);
      } else {
        const int kind = run >= kernels.width[0] ? 0 : 1;
        n = kernels.width[kind];
        kernels.columns[kind](args, at, steps, begin, scratch);
      }
      walker.advance(n);
      begin += n;
    }
  }
};

}  // namespace

void run_lines(const Lines& lines, const LineKernels& kernels, const void* args, int64_t grain,
               int64_t group) {
  if (lines.count == 0 || lines.size == 0) return;
  const Walk walk(lines, kernels, args, group);
  const WithoutGil unlocked(lines.count * lines.size > kGrain);
  const int64_t groups = (lines.count + group - 1) / group;
  parallel_with_scratch(groups, grain / (lines.size * group), walk.scratch_bytes(),
                        [&](int64_t begin, int64_t end, char* scratch) {
                          walk(begin * group, std::min(end * group, lines.count), scratch);
                        });
}

}  // namespace tt::cpu
