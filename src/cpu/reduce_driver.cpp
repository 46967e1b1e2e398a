// Walks a reduction: chooses how the input is read, cuts it in chunks, combines their states.
#include <cstring>
#include <vector>

#include "core/gil.h"
#include "core/walker.h"
#include "cpu/parallel.h"
#include "cpu/run.h"
#include "cpu/tables.h"

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

int64_t product(const Dims& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

struct Reduction {
  const ReduceArgs& args;
  const ReduceOps& ops;
  Dims kept, kept_strides, reduced, reduced_strides;
  int64_t outputs, length, chunks;
  int64_t columns = 0;  // per column_task
  char* states;         // [chunk][output]

  Reduction(const ReduceArgs& args, const ReduceOps& ops)
      : args(args),
        ops(ops),
        kept(args.kept),
        kept_strides(args.kept_strides),
        reduced(args.reduced),
        reduced_strides(args.reduced_strides) {
    merge(kept, kept_strides);
    merge(reduced, reduced_strides);
    outputs = product(kept);
    length = product(reduced);
    chunks = (length + kChunk - 1) / kChunk;
  }

  bool converts() const { return args.dtype != args.compute; }
  int64_t size() const { return itemsize(args.dtype); }
  int64_t chunk_length(int64_t chunk) const { return std::min(kChunk, length - chunk * kChunk); }
  char* state(int64_t chunk, int64_t output) const {
    return states + (chunk * outputs + output) * ops.state_size;
  }
  bool reads_rows() const {
    return !converts() && reduced.size() <= 1 && (reduced.empty() || reduced_strides[0] == size());
  }
  bool reads_columns() const {
    return !converts() && !kept.empty() && kept_strides.back() == size() && kept.back() > 1;
  }

  // One output, its elements side by side in memory; or gathered (and converted) to be so.
  void row_task(int64_t task) const {
    const int64_t output = task / chunks, chunk = task % chunks, n = chunk_length(chunk);
    const char* x = args.x + Walker<1>(kept, {kept_strides}, output).offset();
    if (reads_rows()) {
      ops.inner(x + chunk * kChunk * size(), n, state(chunk, output));
      return;
    }
    alignas(64) char scratch[kChunk * 8];
    const Loop convert = conversion(args.dtype, args.compute);
    const int64_t width = itemsize(args.compute);
    Walker<1> walker(reduced, {reduced_strides}, chunk * kChunk);
    for (int64_t done = 0; done < n;) {
      const int64_t run = std::min(walker.run(), n - done);
      char* const data[] = {scratch + done * width, const_cast<char*>(x) + walker.offset()};
      const int64_t strides[] = {width, walker.run_stride()};
      convert(data, strides, run);
      walker.advance(run);
      done += run;
    }
    ops.inner(scratch, n, state(chunk, output));
  }

  // Outputs that stand side by side, in blocks that give each thread one: the cut changes no bits.
  int64_t block_columns() const {
    const int64_t share = (kept.back() + num_threads() - 1) / num_threads();
    return std::clamp<int64_t>((share + 63) / 64 * 64, 64, 2048);
  }
  int64_t blocks_per_row() const { return (kept.back() + columns - 1) / columns; }
  void column_task(int64_t task) const {
    const int64_t block = task / chunks, chunk = task % chunks, n = chunk_length(chunk);
    const int64_t row = block / blocks_per_row(), start = block % blocks_per_row() * columns;
    const int64_t output = row * kept.back() + start;
    const int64_t width = std::min(columns, kept.back() - start);
    int64_t offsets[kChunk];
    Walker<1> walker(reduced, {reduced_strides}, chunk * kChunk);
    for (int64_t r = 0; r < n; ++r) {
      offsets[r] = walker.offset();
      walker.advance();
    }
    ops.outer(args.x + Walker<1>(kept, {kept_strides}, output).offset(), offsets, n, width,
              state(chunk, output));
  }

  void run() {
    const bool by_columns = !reads_rows() && reads_columns();
    if (by_columns) columns = block_columns();
    const int64_t tasks =
        (by_columns ? outputs / kept.back() * blocks_per_row() : outputs) * chunks;
    std::vector<char> buffer(outputs * chunks * ops.state_size);
    states = buffer.data();
    const WithoutGil unlocked(outputs * length > kGrain);
    const int64_t grain =
        std::max<int64_t>(kGrain / std::max<int64_t>(outputs * length / tasks, 1), 1);
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        by_columns ? column_task(task) : row_task(task);
    });
    for (int64_t step = 1; step < chunks; step *= 2)
      for (int64_t chunk = 0; chunk + step < chunks; chunk += 2 * step)
        ops.combine(state(chunk, 0), state(chunk + step, 0), outputs);
    ops.finish(states, length, args.out, outputs);
  }
};

}  // namespace

void run_reduce(const ReduceArgs& args, const ReduceOps& ops) { Reduction(args, ops).run(); }

}  // namespace tt::cpu
