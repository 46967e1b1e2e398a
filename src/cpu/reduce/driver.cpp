// Walks a reduction: chooses how the input is read, cuts it in chunks, combines their states.
#include "cpu/reduce/driver.h"

#include <cstring>
#include <vector>

#include "core/devices/gil.h"
#include "core/tables/reduce.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/run.h"

namespace tt::cpu {

namespace {

// Dims that can be walked as one (row-major) become one.
void merge(Dims& shape, Dims& strides) {
  for (int i = shape.size() - 2; i >= 0; --i)
    if (strides[i] == strides[i + 1] * shape[i + 1]) {
      shape[i + 1] *= shape[i];
      shape.erase(i);
      strides.erase(i);
    }
}

constexpr int64_t kShort = 8;             // shorter rows are taken side by side
constexpr int64_t kRowsAtOnce = 16;       // their lanes are combined together
constexpr int64_t kStateBytes = 1 << 18;  // of all columns and lanes: they stay in the second cache
constexpr int64_t kPiece = 8 * kLanes;    // rows that the states see at once
constexpr int64_t kScratch = kLanes * 128;  // elements that are converted, or brought together
// Columns may be walked one after the other where the rows touch at most this many bytes' pages:
// of more, a processor would not know all addresses.
constexpr int64_t kPage = 4096, kReach = 1024 * kPage;

struct Reduction {
  const ReduceArgs& args;
  const ReduceOps& ops;
  Dims kept, kept_strides, reduced, reduced_strides;
  int64_t outputs, length, chunks, size;
  ReduceOps::Reader reader;  // of the input; null where it must be converted
  int64_t columns = 0;       // per column_task
  char* states;              // [chunk][output]

  Reduction(const ReduceArgs& args, const ReduceOps& ops)
      : args(args),
        ops(ops),
        kept(args.kept),
        kept_strides(args.kept_strides),
        reduced(args.reduced),
        reduced_strides(args.reduced_strides),
        size(itemsize(args.dtype)) {
    reader = args.dtype == args.compute      ? ops.native
             : args.dtype == DType::Float16  ? ops.half
             : args.dtype == DType::BFloat16 ? ops.bfloat16
             : args.dtype == DType::Bool     ? ops.boolean
                                             : ReduceOps::Reader{};
    merge(kept, kept_strides);
    merge(reduced, reduced_strides);
    outputs = product(kept);
    length = product(reduced);
    chunks = (length + ops.chunk - 1) / ops.chunk;
  }

  int64_t chunk_length(int64_t chunk) const {
    return std::min(ops.chunk, length - chunk * ops.chunk);
  }
  char* state(int64_t chunk, int64_t output) const {
    return states + (chunk * outputs + output) * ops.state_size;
  }

  // Outputs are taken side by side where their elements are closer together than those of a row,
  // or rows are short.
  bool wants_columns() const {
    if (kept.empty() || kept.back() == 1) return false;
    if (reduced.empty()) return true;
    const int64_t next = std::abs(reduced_strides.back());
    return std::abs(kept_strides.back()) < next || (length < kShort && kept.back() >= kLanes);
  }

  bool reads_rows() const {
    return reader.inner && reduced.size() <= 1 && (reduced.empty() || reduced_strides[0] == size);
  }
  // The lanes of one output: its elements lie side by side in memory, or are gathered (and
  // converted) to do so.
  void row(const char* x, int64_t chunk, char* lanes) const {
    const int64_t n = chunk_length(chunk);
    if (reads_rows()) return reader.inner(lanes, x + chunk * ops.chunk * size, n, true, 1, 0);
    Walker<1> walker(reduced, {reduced_strides}, chunk * ops.chunk);
    if (reader.inner && reduced_strides.back() == size && reduced.back() % kLanes == 0) {
      for (int64_t done = 0, run; done < n; done += run) {
        run = std::min(walker.run(), n - done);
        reader.inner(lanes, x + walker.offset(), run, done == 0, 1, 0);
        walker.advance(run);
      }
      return;
    }
    alignas(64) char scratch[kScratch * 8];
    const Loop convert = conversion(args.dtype, args.compute);
    for (int64_t done = 0; done < n;) {
      const int64_t piece = std::min(kScratch, n - done);
      for (int64_t have = 0; have < piece;) {
        const int64_t run = std::min(walker.run(), piece - have);
        convert_line(convert, scratch + have * ops.state_size, ops.state_size, x + walker.offset(),
                     walker.run_stride(), run);
        walker.advance(run);
        have += run;
      }
      ops.native.inner(lanes, scratch, piece, done == 0, 1, 0);
      done += piece;
    }
  }
  void row_tasks(int64_t begin, int64_t end) const {
    alignas(64) char lanes[kRowsAtOnce * kLanes * 8];
    if (chunks == 1) {
      Walker<1> walker(kept, {kept_strides}, begin);
      for (int64_t count; begin < end; begin += count) {
        count = std::min({kRowsAtOnce, end - begin, walker.run()});
        const char* const x = args.x + walker.offset();
        const int64_t row_step = walker.run_stride();
        if (reads_rows())
          reader.inner(lanes, x, length, true, count, row_step);
        else
          for (int64_t r = 0; r < count; ++r)
            row(x + r * row_step, 0, lanes + r * kLanes * ops.state_size);
        walker.advance(count);
        ops.fold_rows(lanes, count, state(0, begin));
      }
    } else {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t output = task / chunks, chunk = task % chunks;
        row(args.x + Walker<1>(kept, {kept_strides}, output).offset(), chunk, lanes);
        ops.fold_rows(lanes, 1, state(chunk, output));
      }
    }
  }

  // Outputs that stand side by side, in blocks that give each thread one: the cut changes no bits.
  int64_t block_columns() const {
    const int64_t share = (kept.back() + num_threads() - 1) / num_threads();
    const int64_t most = kStateBytes / ops.state_size / std::min(ops.lanes, length);
    return std::clamp<int64_t>((share + 63) / 64 * 64, 64,
                               is_direct() ? most : std::min(most, kScratch / kLanes));
  }
  bool is_direct() const { return reader.outer && kept_strides.back() == size; }
  int64_t blocks_per_row() const { return (kept.back() + columns - 1) / columns; }
  // Whether n rows are read column by column, without states in memory.
  bool by_column(int64_t n) const {
    if (n > kChunk || !reader.columns || kept_strides.back() != size) return false;
    if (ops.lanes == 1) return n <= kLanes;  // the states are few
    const int64_t apart = reduced.size() == 1 ? std::abs(reduced_strides[0]) : kPage;
    return n * std::min(apart, kPage) <= kReach;
  }
  void column_task(int64_t task) const {
    const int64_t block = task / chunks, chunk = task % chunks, n = chunk_length(chunk);
    const int64_t start = block % blocks_per_row() * columns;
    const int64_t output = block / blocks_per_row() * kept.back() + start;
    const int64_t width = std::min(columns, kept.back() - start);
    const char* const x = args.x + Walker<1>(kept, {kept_strides}, output).offset();
    Walker<1> walker(reduced, {reduced_strides}, chunk * ops.chunk);
    const char* rows[kChunk];
    // Where the next rows are.
    auto find = [&](int64_t count) {
      for (int64_t r = 0; r < count;) {
        const int64_t run = std::min(walker.run(), count - r), step = walker.run_stride();
        const char* at = x + walker.offset();
        for (int64_t k = 0; k < run; ++k, at += step) rows[r++] = at;
        walker.advance(run);
      }
    };
    const bool adjoin = is_direct() && reduced.size() == 1 && reduced_strides[0] == width * size &&
                        width * size < 256;
    if (by_column(n) && !(adjoin && n >= 2 * kLanes)) {
      find(n);
      return reader.columns(rows, n, width, state(chunk, output));
    }
    alignas(64) char lanes[kStateBytes], scratch[kScratch * 8];
    const ReduceOps::Reader& taken = is_direct() ? reader : ops.native;
    // The same, gathered (and converted) where they must be.
    auto take = [&](int64_t count) {
      find(count);
      if (is_direct()) return;
      const Loop convert = conversion(args.dtype, args.compute);
      for (int64_t r = 0; r < count; ++r) {
        char* const to = scratch + r * width * ops.state_size;
        convert_line(convert, to, ops.state_size, rows[r], kept_strides.back(), width);
        rows[r] = to;
      }
    };
    if (length <= kLanes) {
      take(n);
      return taken.columns(rows, n, width, state(0, output));
    }
    int64_t used = std::min(ops.lanes, n), done = 0;
    if (adjoin && n >= kLanes) {
      // Rows follow each other in memory: 32 of them are one row of all the lanes.
      used = kLanes;
      ops.init(lanes, used * width);
      for (const char* at = x + walker.offset(); done + kLanes <= n;) {
        int64_t count = 0;
        for (; count < kPiece && done + kLanes <= n; ++count, done += kLanes)
          rows[count] = at + done * reduced_strides[0];
        reader.outer(lanes, rows, count, 1, kLanes * width);
      }
      walker = Walker<1>(reduced, {reduced_strides}, chunk * ops.chunk + done);
    } else {
      ops.init(lanes, used * width);
    }
    for (const int64_t most = is_direct() ? kPiece : kLanes; done < n; done += most) {
      const int64_t count = std::min(most, n - done);
      take(count);
      taken.outer(lanes, rows, count, used, width);
    }
    ops.fold(lanes, used, width, state(chunk, output));
  }

  // One output once more, in double.
  void again(int64_t output) const {
    const char* const x = args.x + Walker<1>(kept, {kept_strides}, output).offset();
    const Loop convert = conversion(args.dtype, DType::Float64);
    Walker<1> walker(reduced, {reduced_strides}, 0);
    double state = 0, scratch[kScratch];
    for (int64_t done = 0, piece; done < length && state == state; done += piece) {
      piece = std::min({kScratch, length - done, walker.run()});
      convert_line(convert, reinterpret_cast<char*>(scratch), sizeof(double), x + walker.offset(),
                   walker.run_stride(), piece);
      walker.advance(piece);
      ops.step_again(&state, scratch, piece);
    }
    ops.finish_again(state, length, args.out + output * ops.state_size);
  }
  bool is_finite(int64_t output) const {
    const char* const at = args.out + output * ops.state_size;
    if (args.compute == DType::Float32)
      return __builtin_isfinite(*reinterpret_cast<const float*>(at));
    return __builtin_isfinite(*reinterpret_cast<const double*>(at));
  }

  void run() {
    const bool by_columns = wants_columns();
    if (by_columns) columns = block_columns();
    const int64_t tasks =
        (by_columns ? outputs / kept.back() * blocks_per_row() : outputs) * chunks;
    std::vector<char> buffer(outputs * chunks * ops.state_size);
    states = buffer.data();
    const WithoutGil unlocked(outputs * length > kGrain);
    const int64_t grain =
        std::max<int64_t>(kGrain / std::max<int64_t>(outputs * length / tasks, 1), 1);
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      if (!by_columns) return row_tasks(begin, end);
      for (int64_t task = begin; task < end; ++task) column_task(task);
    });
    for (int64_t step = 1; step < chunks; step *= 2)
      for (int64_t chunk = 0; chunk + step < chunks; chunk += 2 * step)
        ops.combine(state(chunk, 0), state(chunk + step, 0), outputs);
    if (ops.finish(states, length, args.out, outputs) || !ops.step_again) return;
    for (int64_t output = 0; output < outputs; ++output)
      if (!is_finite(output)) again(output);
  }
};

}  // namespace

void run_reduce(const ReduceArgs& args, const ReduceOps& ops) { Reduction(args, ops).run(); }

}  // namespace tt::cpu
