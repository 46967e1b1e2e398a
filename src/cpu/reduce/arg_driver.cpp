// Walks the lines of argmax and its like: along memory, or side by side, in chunks for threads.
#include <vector>

#include "core/devices/gil.h"
#include "core/tables/reduce.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/run.h"
#include "cpu/reduce/driver.h"

namespace tt::cpu {

namespace {

constexpr int64_t kLongest = 1 << 15;     // elements of a line that a thread takes at once
constexpr int64_t kShort = 32;            // shorter lines are taken side by side
constexpr int64_t kRows = 16;             // rows of columns that are read side by side
constexpr int64_t kScratch = kRows * 64;  // elements that are converted, or brought together

struct ArgWalk {
  const ArgArgs& a;
  const ArgOps& ops;
  const LineStream& in = a.lines.stream[0];
  const DType compute = a.lines.compute;
  const int64_t lines = a.lines.count, chunks = (a.lines.size + kLongest - 1) / kLongest;
  const int64_t size = itemsize(in.dtype);
  int64_t columns = 0;
  char* records;       // [chunk][line]
  int64_t* positions;  // the same

  ArgWalk(const ArgArgs& args, const ArgOps& o) : a(args), ops(o) {}

  // Lines that are side by side.
  int64_t neighbours() const { return a.lines.shape.back(); }
  bool converts() const { return in.dtype != compute; }
  bool wants_columns() const {
    return !a.lines.shape.empty() &&
           (in.strides.back() < in.step || (a.lines.size < kShort && neighbours() >= kRows));
  }
  bool is_direct() const { return !converts() && in.strides.back() == size; }
  int64_t chunk_length(int64_t chunk) const {
    return std::min(kLongest, a.lines.size - chunk * kLongest);
  }

  void row_task(const char* x, int64_t line, int64_t chunk) const {
    const int64_t n = chunk_length(chunk), at = chunk * lines + line;
    char* const record = records + at * ops.record_size;
    x += chunk * kLongest * in.step;
    if (!converts() && in.step == size) {
      positions[at] = chunk * kLongest + ops.row(x, n, record);
      return;
    }
    alignas(64) char scratch[kScratch * 8], other[8];
    const Loop convert = conversion(in.dtype, compute);
    for (int64_t done = 0; done < n; done += kScratch) {
      const int64_t piece = std::min(kScratch, n - done);
      convert_line(convert, scratch, ops.record_size, x + done * in.step, in.step, piece);
      const int64_t position =
          chunk * kLongest + done + ops.row(scratch, piece, done ? other : record);
      if (done)
        ops.merge(record, positions + at, other, &position, 1);
      else
        positions[at] = position;
    }
  }

  int64_t blocks_per_row() const { return (neighbours() + columns - 1) / columns; }
  void column_task(int64_t task) const {
    const int64_t block = task / chunks, chunk = task % chunks, n = chunk_length(chunk);
    const int64_t start = block % blocks_per_row() * columns;
    const int64_t line = block / blocks_per_row() * neighbours() + start;
    const int64_t width = std::min(columns, neighbours() - start), at = chunk * lines + line;
    const char* x = in.data + Walker<1>(a.lines.shape, {in.strides}, line).offset();
    x += chunk * kLongest * in.step;
    alignas(64) char scratch[kScratch * 8];
    const Loop convert = conversion(in.dtype, compute);
    for (int64_t done = 0; done < n; done += kRows) {
      const char* rows[kRows];
      const int64_t count = std::min(kRows, n - done);
      for (int64_t r = 0; r < count; ++r) {
        rows[r] = x + (done + r) * in.step;
        if (is_direct()) continue;
        char* const to = scratch + r * width * ops.record_size;
        convert_line(convert, to, ops.record_size, rows[r], in.strides.back(), width);
        rows[r] = to;
      }
      ops.columns(rows, count, done, width, records + at * ops.record_size, positions + at);
    }
    for (int64_t j = 0; j < width; ++j) positions[at + j] += chunk * kLongest;
  }

  void run() {
    const bool by_columns = wants_columns();
    if (by_columns) {
      const int64_t share = (neighbours() + num_threads() - 1) / num_threads();
      columns =
          std::clamp<int64_t>((share + 63) / 64 * 64, 64, is_direct() ? 1024 : kScratch / kRows);
    }
    const int64_t tasks = (by_columns ? lines / neighbours() * blocks_per_row() : lines) * chunks;
    std::vector<char> record_buffer;
    std::vector<int64_t> position_buffer;
    records = a.values;
    positions = a.positions;
    if (!records || converts() || chunks > 1) {
      record_buffer.resize(lines * chunks * ops.record_size);
      records = record_buffer.data();
    }
    if (chunks > 1) {
      position_buffer.resize(lines * chunks);
      positions = position_buffer.data();
    }
    const WithoutGil unlocked(lines * a.lines.size > kGrain);
    const int64_t grain =
        std::max<int64_t>(kGrain / std::max<int64_t>(lines * a.lines.size / tasks, 1), 1);
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      if (by_columns) {
        for (int64_t task = begin; task < end; ++task) column_task(task);
        return;
      }
      Walker<1> walker(a.lines.shape, {in.strides}, begin / chunks);
      for (int64_t task = begin; task < end; ++task) {
        row_task(in.data + walker.offset(), task / chunks, task % chunks);
        if ((task + 1) % chunks == 0) walker.advance();
      }
    });
    for (int64_t c = 1; c < chunks; ++c)
      ops.merge(records, positions, records + c * lines * ops.record_size, positions + c * lines,
                lines);
    if (positions != a.positions) std::copy_n(positions, lines, a.positions);
    if (!a.values || records == a.values) return;
    convert_line(conversion(compute, in.dtype), a.values, size, records, ops.record_size, lines);
  }
};

}  // namespace

void run_arg(const ArgArgs& args, const ArgOps& ops) { ArgWalk(args, ops).run(); }

}  // namespace tt::cpu
