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

struct Walk {
  const Lines& lines;
  const LineKernels& kernels;
  const void* args;
  const int64_t item;
  bool direct[kStreams];  // its lines are read and written where they are
  bool sideways;          // neighbouring lines stand side by side in every stream

  Walk(const Lines& l, const LineKernels& k, const void* a)
      : lines(l), kernels(k), args(a), item(itemsize(l.compute)) {
    sideways = !lines.shape.empty();
    bool rows = true;
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      const bool native = stream.dtype == lines.compute;
      direct[s] = native && (stream.step == item || lines.size == 1);
      rows &= direct[s];
      sideways &= native && !stream.strides.empty() && stream.strides.back() == item;
    }
    sideways &= !rows && kernels.width[1] != LineKernels::kNever;
  }

  int64_t scratch_bytes() const {
    int64_t bytes = 0;
    for (int s = 0; s < lines.streams; ++s) bytes += direct[s] ? 0 : padded();
    return sideways ? std::max(bytes, kernels.width[0] * padded()) : bytes;
  }
  int64_t padded() const { return (lines.size * item + 63) / 64 * 64; }
  bool is_output(int s) const { return lines.has_output && s == lines.streams - 1; }

  void row(char* const* at, int64_t position, char* scratch) const {
    char* data[kStreams];
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      data[s] = at[s];
      if (direct[s]) continue;
      data[s] = scratch;
      scratch += padded();
      if (is_output(s)) continue;
      char* const from_to[] = {data[s], at[s]};
      const int64_t strides[] = {item, stream.step};
      conversion(stream.dtype, lines.compute)(from_to, strides, lines.size);
    }
    kernels.row(args, data, position);
    const int out = lines.streams - 1;
    if (!lines.has_output || direct[out]) return;
    char* const from_to[] = {at[out], data[out]};
    const int64_t strides[] = {lines.stream[out].step, item};
    conversion(lines.compute, lines.stream[out].dtype)(from_to, strides, lines.size);
  }

  void operator()(int64_t begin, int64_t end, char* scratch) const {
    const Dims strides[kStreams] = {lines.stream[0].strides, lines.stream[1].strides,
                                    lines.stream[2].strides};
    int64_t steps[kStreams];
    for (int s = 0; s < kStreams; ++s) steps[s] = lines.stream[s].step;
    Walker<kStreams> walker(lines.shape, strides, begin);
    while (begin < end) {
      char* at[kStreams];
      for (int s = 0; s < lines.streams; ++s) at[s] = lines.stream[s].data + walker.offset(s);
      const int64_t run = sideways ? std::min(walker.run(), end - begin) : 1;
      const int kind = run >= kernels.width[0] ? 0 : run >= kernels.width[1] ? 1 : 2;
      const int64_t n = kind < 2 ? kernels.width[kind] : 1;
      if (kind < 2)
        kernels.columns[kind](args, at, steps, begin, scratch);
      else
        row(at, begin, scratch);
      walker.advance(n);
      begin += n;
    }
  }
};

}  // namespace

void run_lines(const Lines& lines, const LineKernels& kernels, const void* args, int64_t grain,
               int64_t group) {
  if (lines.count == 0 || lines.size == 0) return;
  const Walk walk(lines, kernels, args);
  const WithoutGil unlocked(lines.count * lines.size > kGrain);
  const int64_t groups = (lines.count + group - 1) / group;
  parallel_with_scratch(groups, grain / (lines.size * group), walk.scratch_bytes(),
                        [&](int64_t begin, int64_t end, char* scratch) {
                          walk(begin * group, std::min(end * group, lines.count), scratch);
                        });
}

}  // namespace tt::cpu
