// Scans: lines side by side, each with its state.
#include "core/tables/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/dtypes/with_type.h"
#include "core/formulas/wrapping.h"
#include "core/memory/storage.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

constexpr int kLanes = 128;  // columns that are scanned side by side
constexpr int kRows = 8;     // rows, or chunks: as many as hide the latency of an addition
// Elements of a long line that are summed ahead. Not a power of 2: of chunks that are scanned side
// by side, the elements would compete for the same lines of the cache.
constexpr int64_t kChunk = 4096 + 64;

// ------------------------------------------------------------------------------------- the steps
// A scan has a State per line. `start` sees the line's first element; `step` takes an element, the
// i-th, and writes what has been seen to position `at` of the result.

// What sums and products are taken in; integers wrap around.
template <class T>
using Acc = std::conditional_t<!is_float_type<T>, uint64_t,
                               std::conditional_t<sizeof(T) == 2, float, double>>;

template <class T>
struct Sum {
  using State = Acc<T>;
  T* out;
  void start(State& sum, T) const { sum = 0; }
  void step(State& sum, T value, int64_t, int64_t at) const {
    sum += static_cast<State>(value);
    out[at] = static_cast<T>(sum);
  }
};

template <class T>
struct Product {
  using State = Acc<T>;
  T* out;
  void start(State& product, T) const { product = 1; }
  void step(State& product, T value, int64_t, int64_t at) const {
    product *= static_cast<State>(value);
    out[at] = static_cast<T>(product);
  }
};

template <class T>
struct LogSumExp {
  using State = Acc<T>;
  T* out;
  void start(State& sum, T) const { sum = -std::numeric_limits<State>::infinity(); }
  void step(State& sum, T value, int64_t, int64_t at) const {
    const State x = static_cast<State>(value);
    const State low = std::min(x, sum), high = std::max(x, sum);
    if (x != x || sum != sum)
      sum = x + sum;
    else if (low != high || std::isfinite(low))  // else infinities, or nothing yet
      sum = high + std::log1p(std::exp(low - high));
    out[at] = static_cast<T>(sum);
  }
};

template <class T, bool kLargest>
struct Extreme {
  struct State {
    T best;
    int64_t index;
  };
  T* values;
  int64_t* indices;
  void start(State& state, T first) const { state = {first, 0}; }
  void step(State& state, T value, int64_t i, int64_t at) const {
    const bool beaten = kLargest ? value < state.best : value > state.best;  // the usual case
    if (!beaten && (state.best == state.best || value != value)) state = {value, i};
    values[at] = state.best;
    indices[at] = state.index;
  }
};

template <class T, bool kReverse>
struct Linear {
  using State = Acc<T>;  // y[k-1], or a[k+1] y[k+1]
  T* out;
  const T* a;
  void start(State& state, T) const { state = 0; }
  void step(State& state, T value, int64_t i, int64_t at) const {
    // Not 0 * a at the start: a may be infinite there.
    const State factor = static_cast<State>(a[at]);
    const State carried = kReverse || i == 0 ? state : factor * state;
    const State y = static_cast<State>(value) + carried;
    out[at] = static_cast<T>(y);
    state = kReverse ? factor * y : y;
  }
};

// -------------------------------------------------------------------------------------- the walk
// Lines side by side. Strides of x in bytes; `at` and the strides of the result in elements.
struct Block {
  const char* x;
  int64_t x_step, x_lane;
  int64_t at, step, lane;
  int64_t size;  // elements of a lane
  int lanes;     // at most kRows, or neighbours in the result
};

// So few lanes that their states stay in registers.
template <int kCount, class T, class Op>
void scan_few(const Op& op, const Block& b, int from, typename Op::State* states) {
  typename Op::State local[kCount];
  for (int l = 0; l < kCount; ++l) local[l] = states[from + l];
  const int64_t size = b.size, x_step = b.x_step, x_lane = b.x_lane, step = b.step, lane = b.lane;
  const char* x = b.x + from * x_lane;
  int64_t at = b.at + from * lane;
  for (int64_t i = 0; i < size; ++i, x += x_step, at += step)
    for (int l = 0; l < kCount; ++l) op.step(local[l], read<T>(x + l * x_lane), i, at + l * lane);
}

template <class T, class Op>
void scan(const Op& op, const Block& b, typename Op::State* states) {
  if (b.lanes == kRows) return scan_few<kRows, T>(op, b, 0, states);
  if (b.lanes < kRows) {
    for (int l = 0; l < b.lanes; ++l) scan_few<1, T>(op, b, l, states);
    return;
  }
  auto walk = [&](auto x_lane) {
    const char* x = b.x;
    int64_t at = b.at;
    for (int64_t i = 0; i < b.size; ++i, x += b.x_step, at += b.step)
      for (int l = 0; l < b.lanes; ++l) op.step(states[l], read<T>(x + l * x_lane), i, at + l);
  };
  if (b.x_lane == sizeof(T))  // a constant, so that it becomes vectors
    walk(std::integral_constant<int64_t, sizeof(T)>());
  else
    walk(b.x_lane);
}

// The sum of a chunk, in an order of its own: it only has to be the same each time.
template <class T>
Acc<T> chunk_sum(const char* x, int64_t step, int64_t n) {
  Acc<T> sums[kRows] = {};
  int64_t i = 0;
  for (; i + kRows <= n; i += kRows)
    for (int k = 0; k < kRows; ++k) sums[k] += static_cast<Acc<T>>(read<T>(x + (i + k) * step));
  for (; i < n; ++i) sums[0] += static_cast<Acc<T>>(read<T>(x + i * step));
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// A long line of sums: where each chunk starts is found first, then chunks are scanned side by
// side. Not for float64, where a chunk's sum may overflow though the line's does not.
template <class T>
void scan_chunks(const Sum<T>& op, const Block& line) {
  const int64_t chunks = (line.size + kChunk - 1) / kChunk, bundles = (chunks + kRows - 1) / kRows;
  std::vector<Acc<T>> starts(chunks + 1);
  auto chunk = [&](int64_t c) { return line.x + c * kChunk * line.x_step; };
  auto length = [&](int64_t c) { return std::min(kChunk, line.size - c * kChunk); };
  parallel_for(chunks, kGrain / kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      starts[c + 1] = chunk_sum<T>(chunk(c), line.x_step, length(c));
  });
  for (int64_t c = 0; c < chunks; ++c) starts[c + 1] += starts[c];
  parallel_for(bundles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t c = b * kRows, last = std::min(c + kRows, chunks) - 1;
      auto scan_from = [&](int64_t at, int lanes, int64_t size) {
        const int64_t start = line.at + at * kChunk * line.step;
        scan<T>(op,
                Block{chunk(at), line.x_step, kChunk * line.x_step, start, line.step,
                      kChunk * line.step, size, lanes},
                starts.data() + at);
      };
      const bool whole = length(last) == kChunk;
      if (const int lanes = static_cast<int>(last - c) + whole) scan_from(c, lanes, kChunk);
      if (!whole) scan_from(last, 1, length(last));
    }
  });
}

template <class T, class Op>
void run(const Op& op, const ScanArgs& args) {
  const int64_t size = args.size, inner = args.inner;
  const Dims& strides = args.strides;
  // Rows side by side, or columns.
  const int64_t count = inner == 1 ? args.outer : inner, width = inner == 1 ? kRows : kLanes;
  const int64_t bundles = (count + width - 1) / width,
                tasks = bundles * (inner == 1 ? 1 : args.outer);
  const int64_t start = args.reverse ? size - 1 : 0, sign = args.reverse ? -1 : 1;
  auto block = [&](int64_t task) {
    const int64_t o = inner == 1 ? task * width : task / bundles;
    const int64_t c = inner == 1 ? 0 : task % bundles * width;
    const int64_t lanes = std::min(width, count - (inner == 1 ? o : c));
    return Block{args.x + o * strides[0] + start * strides[1] + c * strides[2],
                 sign * strides[1],
                 inner == 1 ? strides[0] : strides[2],
                 (o * size + start) * inner + c,
                 sign * inner,
                 inner == 1 ? size : 1,
                 size,
                 static_cast<int>(lanes)};
  };
  if constexpr (std::is_same_v<Op, Sum<T>> && !std::is_same_v<T, double>) {
    if (inner == 1 && args.outer < 2 * kRows && size > 2 * kChunk) {
      for (int64_t o = 0; o < args.outer; ++o) {
        Block line = block(0);
        line.x += o * line.x_lane;
        line.at += o * line.lane;
        scan_chunks(op, line);
      }
      return;
    }
  }
  parallel_for(tasks, kGrain / (size * std::min(width, count)), [&](int64_t begin, int64_t end) {
    typename Op::State states[kLanes];
    for (int64_t task = begin; task < end; ++task) {
      const Block b = block(task);
      for (int l = 0; l < b.lanes; ++l) op.start(states[l], read<T>(b.x + l * b.x_lane));
      scan<T>(op, b, states);
    }
  });
}

#include "core/scan_by_dtype.h"

}  // namespace

extern const ScanTable scan_table = {values<Sum>,   values<Product>, logsumexp,
                                     extreme<true>, extreme<false>,  linear};

}  // namespace tt::cpu
