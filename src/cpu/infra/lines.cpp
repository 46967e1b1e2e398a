// Walks the lines of softmax and its like: contiguous rows as they are, columns side by side, and
// anything else through scratch memory: Note [Lines].
#include "cpu/infra/lines.h"

#include <algorithm>

#include "core/devices/gil.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/run.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/turned.h"

namespace tt::cpu {

namespace {

constexpr int kStreams = Lines::kMaxStreams;
constexpr int64_t kFew = 16;         // shorter lines are better computed side by side
constexpr int64_t kTogether = 8192;  // bytes of a stream that are computed at once

struct Walk {
  const Lines& lines;
  const LineKernels& kernels;
  const void* args;
  const int64_t item, few, group;  // bytes of an element; lines of the narrower kernel; of a group
  bool row_direct[kStreams];       // its lines are read and written where they are, one by one
  bool columns_direct[kStreams];   // or side by side
  bool turned[kStreams];           // its lines become rows of scratch memory, many at once
  bool sideways, packs;            // neighbours are computed side by side; some are copied so first
  int64_t together;                // else: rows that are computed at once
  int64_t block;                   // and those that are in scratch memory at once
  int64_t padded;                  // bytes of a row there

  Walk(const Lines& l, const LineKernels& k, const void* a, int64_t g, int64_t threads)
      : lines(l), kernels(k), args(a), item(itemsize(l.compute)), few(k.width[1]), group(g) {
    bool rows = true, columns = true, any_turned = false;
    for (int s = 0; s < lines.streams; ++s) {
      const LineStream& stream = lines.stream[s];
      const bool native = stream.dtype == lines.compute;
      const int64_t next = stream.strides.empty() ? 0 : stream.strides.back();
      row_direct[s] = native && (stream.step == item || lines.size == 1);
      columns_direct[s] = native && next == item;
      rows &= row_direct[s];
      columns &= columns_direct[s];
      turned[s] = !row_direct[s] && is_turned(stream) && own_item(s) <= item;
      any_turned |= turned[s];
    }
    const bool possible = few != LineKernels::kNever && !lines.shape.empty();
    packs = !columns;
    sideways = possible && !rows && (columns || lines.size <= kFew);
    const bool turns = any_turned && !sideways;
    padded = turns ? bytes_of_row(lines.size, item) : (lines.size * item + 63) / 64 * 64;
    together = std::clamp<int64_t>(kTogether / padded, 1, kernels.most_rows);
    block = turns ? std::max(together, rows_at_once(padded, lines.count, threads)) : together;
  }

  bool is_output(int s) const { return s >= lines.streams - lines.outputs; }
  int64_t own_item(int s) const { return itemsize(lines.stream[s].dtype); }
  int64_t packed() const { return few * item * lines.size; }
  int64_t scratch_bytes() const {
    int64_t bytes = 0;
    for (int s = 0; s < lines.streams; ++s) bytes += row_direct[s] ? 0 : padded * block;
    return sideways && packs ? std::max(bytes, packed() * lines.streams) : bytes;
  }

  // Lines of a stream as rows of scratch memory, and back. Turned ones are converted there, in
  // place: their elements, no larger than those of `compute`, first stand at the rows' ends.
  void gather(int s, const char* at, int64_t next, int64_t count, char* rows) const {
    const LineStream& stream = lines.stream[s];
    const Loop convert = conversion(stream.dtype, lines.compute);
    const auto convert_all = [&](const char* from, int64_t next, int64_t step) {
      if (next == lines.size * step && padded == lines.size * item)  // a single line
        return convert_line(convert, rows, item, from, step, lines.size * count);
      for (int64_t r = 0; r < count; ++r)
        convert_line(convert, rows + r * padded, item, from + r * next, step, lines.size);
    };
    if (!turned[s]) return convert_all(at, next, stream.step);
    const bool native = stream.dtype == lines.compute;
    char* const own = native ? rows : rows + padded - lines.size * own_item(s);
    gather_rows(stream, at, lines.size, count, own, padded);
    if (!native) convert_all(own, padded, own_item(s));
  }

  void scatter(int s, char* rows, char* at, int64_t next, int64_t count) const {
    const LineStream& stream = lines.stream[s];
    const Loop convert = conversion(lines.compute, stream.dtype);
    const auto convert_all = [&](char* to, int64_t next, int64_t step) {
      if (next == lines.size * step && padded == lines.size * item)
        return convert_line(convert, to, step, rows, item, lines.size * count);
      for (int64_t r = 0; r < count; ++r)
        convert_line(convert, to + r * next, step, rows + r * padded, item, lines.size);
    };
    if (!turned[s]) return convert_all(at, next, stream.step);
    if (stream.dtype != lines.compute) convert_all(rows, padded, own_item(s));
    scatter_rows(stream, rows, padded, lines.size, count, at);
  }

  void rows(char* const* at, const int64_t* next, int64_t position, int64_t count,
            char* scratch) const {
    char* data[kStreams] = {};
    int64_t steps[kStreams] = {};
    for (int s = 0; s < lines.streams; ++s) {
      data[s] = row_direct[s] ? at[s] : scratch;
      steps[s] = row_direct[s] ? next[s] : padded;
      if (row_direct[s]) continue;
      scratch += padded * block;
      if (!is_output(s)) gather(s, at[s], next[s], count, data[s]);
    }
    for (int64_t first = 0, n; first < count; first += n) {
      n = std::min(together, count - first);
      if (group > 1) n = std::min(n, group - (position + first) % group);
      char* some[kStreams];
      for (int s = 0; s < kStreams; ++s) some[s] = data[s] + first * steps[s];
      kernels.rows(args, some, steps, position + first, n);
    }
    const int out = lines.streams - 1;
    if (lines.outputs && !row_direct[out]) scatter(out, data[out], at[out], next[out], count);
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
    kernels.columns[1](args, data, steps, position);
    const int out = lines.streams - 1;
    if (!lines.outputs || columns_direct[out]) return;
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
      int64_t n = std::min(run, block);
      if (!sideways || run < few) {
        rows(at, next, begin, n, scratch);
      } else if (packs) {
        n = few;
        pack(at, next, begin, scratch);
      } else {
        const int kind = run >= kernels.width[0] ? 0 : 1;
        n = kernels.width[kind];
        kernels.columns[kind](args, at, steps, begin);
      }
      walker.advance(n);
      begin += n;
    }
  }
};

}  // namespace

// Whether the elements of all streams are of one half type, and side by side.
static bool are_halves(const Lines& lines) {
  const DType dtype = lines.stream[0].dtype;
  for (int s = 0; s < lines.streams; ++s) {
    const LineStream& stream = lines.stream[s];
    if (stream.dtype != dtype ||
        (stream.step != static_cast<int64_t>(itemsize(dtype)) && lines.size > 1))
      return false;
  }
  return is_half(dtype);
}

void run_lines(const Lines& lines, const LineKernels& kernels, const void* args, int64_t grain,
               int64_t group) {
  if (kernels.halves[0] && are_halves(lines)) {
    Lines as_they_lie = lines;
    as_they_lie.compute = lines.stream[0].dtype;
    constexpr int64_t kNever = LineKernels::kNever;
    const auto rows = kernels.halves[lines.stream[0].dtype == DType::BFloat16];
    return run_lines(as_they_lie, {rows, kernels.most_rows, {}, {kNever, kNever}}, args, grain,
                     group);
  }
  if (lines.count == 0 || lines.size == 0) return;
  const WithoutGil unlocked(lines.count * lines.size > kGrain);
  const int64_t groups = (lines.count + group - 1) / group;
  grain /= lines.size * group;
  const Walk walk(lines, kernels, args, group, threads_for(groups, grain));
  parallel_with_scratch(
      groups, grain, walk.scratch_bytes(),
      [&](int64_t begin, int64_t end, char* scratch) {
        walk(begin * group, std::min(end * group, lines.count), scratch);
      },
      kMostRows);
}

Lines in_parts(const Lines& lines, int64_t size, int64_t parts) {
  Lines result = lines;
  result.size = size;
  result.count *= parts;
  result.shape.push_back(parts);
  for (LineStream& stream : result.stream) stream.strides.push_back(stream.step * size);
  return result;
}

}  // namespace tt::cpu
