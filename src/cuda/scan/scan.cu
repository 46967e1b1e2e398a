// Scans: each position's state is that of the one before it combined with its own element.
//
// A block takes a chunk of one line, or of several side by side, over which states are combined
// with those 1, 2, 4, ... threads before them (Hillis and Steele, 1986). Of a line of several
// chunks, the states of whole chunks are found first, and scanned in turn: so x is read twice, and
// the order of combinations follows from the shape alone.
#include "core/dtypes/with_type.h"
#include "core/tables/scan.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/block.h"
#include "cuda/infra/elements.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/formulas/functors.h"

// A line has `size` elements; `at` is a place in the results, and `before` that of the element
// that the scan saw before.
struct Place {
  int64_t i, at, before;
};

// ---- the states: of one element, and of two runs of which b follows a ---------------------------

// What sums and products are taken in; integers wrap around.
template <class T>
using Accumulator = std::conditional_t<!is_float_type<T>, uint64_t,
                                       std::conditional_t<sizeof(T) == 2, float, double>>;

template <class T>
struct Values {  // an op whose only result is `out`
  using State = Accumulator<T>;
  T* out;
  __device__ State of(T value, Place) const { return static_cast<State>(value); }
  __device__ void store(State state, Place place) const { out[place.at] = static_cast<T>(state); }
};
template <class T>
struct Sum : Values<T> {
  using typename Values<T>::State;
  __device__ State combine(State a, State b) const { return a + b; }
};
template <class T>
struct Product : Values<T> {
  using typename Values<T>::State;
  __device__ State combine(State a, State b) const { return a * b; }
};
template <class T>
struct LogSumExp : Values<T> {
  using typename Values<T>::State;
  __device__ State combine(State a, State b) const { return logaddexp(a, b); }
};

// The last of those that are equal; a NaN counts as the extreme.
template <class T, bool kLargest>
struct Extreme {
  struct State {  // without padding: copies of a state touch nothing that is not written
    std::conditional_t<is_float_type<T>, double, int64_t> best;
    int64_t index;
  };
  T* values;
  int64_t* indices;
  __device__ State of(T value, Place place) const { return {value, place.i}; }
  __device__ State combine(State a, State b) const {
    const bool beaten = kLargest ? b.best < a.best : b.best > a.best;
    return !beaten && (a.best == a.best || b.best != b.best) ? b : a;
  }
  __device__ void store(State state, Place place) const {
    values[place.at] = static_cast<T>(state.best);
    indices[place.at] = state.index;
  }
};

// y[i] = x[i] + a[i] y[i-1]; from the end, y[i] = x[i] + a[i+1] y[i+1]. A run takes the y before it
// to y + factor times that.
template <class T, bool kReverse>
struct Linear {
  using Number = Accumulator<T>;
  struct State {
    Number factor, y;
  };
  T* out;
  const T* a;
  __device__ State of(T value, Place place) const {
    const T factor = place.i ? a[kReverse ? place.before : place.at] : T{};
    return {static_cast<Number>(factor), static_cast<Number>(value)};
  }
  __device__ State combine(State a, State b) const {
    return {a.factor * b.factor, b.y + b.factor * a.y};
  }
  __device__ void store(State state, Place place) const { out[place.at] = static_cast<T>(state.y); }
};

// States of chunks, as elements of a scan.
template <class Op>
struct Running {
  using State = typename Op::State;
  Op op;
  State* out;
  __device__ State of(State state, Place) const { return state; }
  __device__ State combine(State a, State b) const { return op.combine(a, b); }
  __device__ void store(State state, Place place) const { out[place.at] = state; }
};
template <class Op>
Running<Op> running(const Op& op, typename Op::State* out) {
  return {op, out};
}
template <class Op>
Running<Op> running(const Running<Op>& op, typename Op::State* out) {
  return {op.op, out};
}

// ---- the walk -----------------------------------------------------------------------------------

// One line: strides of x in bytes, of the results in elements.
template <class T>
struct Line {
  const char* x;
  int64_t x_step, at, step;

  __device__ Place place(int64_t i) const { return {i, at + i * step, at + (i - 1) * step}; }
  template <class Op>
  __device__ auto state(const Op& op, int64_t i) const {
    return op.of(read<T>(x + i * x_step), place(i));
  }
};

constexpr int kEach = 8, kTile = kEach * kThreads;  // places of a thread, and of a block

// x[outer, size, inner] as lines of size, cut in chunks: a block has 2^bits lines, and of each
// kTile / 2^bits places.
struct Shape {
  const char* x;
  int64_t outer, size, inner, strides[3];
  bool reverse;
  int bits;
  int64_t chunks;  // of a line

  Shape(const char* x, int64_t outer, int64_t size, int64_t inner, int64_t outer_stride,
        int64_t stride, int64_t inner_stride, bool reverse)
      : x(x),
        outer(outer),
        size(size),
        inner(inner),
        strides{outer_stride, stride, inner_stride},
        reverse(reverse),
        bits(inner >= 32 ? 5 : 0) {
    while (kTile >> (bits + 1) >= size && 1 << bits < kThreads) ++bits;
    chunks = (size + (kTile >> bits) - 1) >> (11 - bits);
  }
  TT_HOST_DEVICE int64_t lines() const { return outer * inner; }
  int64_t groups() const { return (lines() + (1 << bits) - 1) >> bits; }

  template <class T>
  __device__ Line<T> line(int64_t number) const {
    const int64_t o = inner == 1 ? number : number / inner, k = number - o * inner;
    const int64_t first = reverse ? size - 1 : 0, sign = reverse ? -1 : 1;
    return {x + o * strides[0] + first * strides[1] + k * strides[2], sign * strides[1],
            (o * size + first) * inner + k, sign * inner};
  }
  // Where the states of chunks are: [outer, of a line, inner].
  __device__ int64_t chunk_at(int64_t number, int64_t chunk, int64_t of_line) const {
    const int64_t o = inner == 1 ? number : number / inner;
    return (o * of_line + chunk) * inner + number - o * inner;
  }
};
static_assert(kTile == 1 << 11);

// What a block works on.
template <class T, class Op>
struct Part {
  using State = typename Op::State;
  const Op& op;
  const Shape& shape;
  int64_t line, chunk;  // the first line
  State* tile;          // [place, line]

  // Columns of the tile lie in different banks.
  __device__ State& at(int place, int column) const {
    const int index = (place << shape.bits) + column;
    return tile[index + index / kEach];
  }
  __device__ int row() const { return (threadIdx.x >> shape.bits) * kEach; }
  __device__ int column() const { return threadIdx.x & ((1 << shape.bits) - 1); }

  // use(state in the tile, its line, its place there or -1), of neighbours in memory by
  // neighbouring threads.
  template <class Use>
  __device__ void each(const Use& use) const {
    const int places = 11 - shape.bits;
    const bool along = shape.inner == 1;
    const Line<T> first = shape.line<T>(along ? line : line + column());
    for (int j = 0; j < kEach; ++j) {
      const int k = j * kThreads + threadIdx.x;
      const int place = along ? k & ((1 << places) - 1) : k >> shape.bits;
      const int side = along ? k >> places : column();
      const int64_t i = (chunk << places) + place, further = along ? side : 0;
      const Line<T> own{first.x + further * shape.strides[0], first.x_step,
                        first.at + further * shape.size, first.step};
      use(at(place, side), own, line + side < shape.lines() && i < shape.size ? i : -1);
    }
  }
  // Every state becomes that of its thread's places up to it. Answers the last one.
  __device__ State load() const {
    each(
        [&](State& to, const Line<T>& own, int64_t i) { to = i < 0 ? State{} : own.state(op, i); });
    __syncthreads();
    State state = at(row(), column());
    for (int j = 1; j < kEach; ++j) {
      State& own = at(row() + j, column());
      own = state = op.combine(state, own);
    }
    return state;
  }
};

// The state of each chunk but the last of a line.
template <class T, class Op>
__global__ void chunk_states(const Op op, const Shape shape, typename Op::State* const out) {
  using State = typename Op::State;
  __shared__ State tile[kTile + kTile / kEach], states[kThreads];
  const int64_t chunks = shape.chunks - 1;
  const Part<T, Op> part{op, shape, (blockIdx.x / chunks) << shape.bits, blockIdx.x % chunks, tile};
  const int t = threadIdx.x, width = 1 << shape.bits;
  State state = part.load();
  states[t] = state;
  for (int distance = width; distance < kThreads; distance *= 2) {
    __syncthreads();
    if ((t & (2 * distance - width)) == 0) {  // of the rows that are left
      state = op.combine(state, states[t + distance]);
      states[t] = state;
    }
  }
  if (t < width && part.line + t < shape.lines())
    out[shape.chunk_at(part.line + t, part.chunk, chunks)] = state;
}

// The results. `before`: the states of all that is before the second chunk and those behind it.
template <class T, class Op>
__global__ void scan_chunks(const Op op, const Shape shape,
                            const typename Op::State* const before) {
  using State = typename Op::State;
  __shared__ State tile[kTile + kTile / kEach], states[2][kThreads];
  const int64_t chunks = shape.chunks;
  const Part<T, Op> part{op, shape, (blockIdx.x / chunks) << shape.bits, blockIdx.x % chunks, tile};
  const int t = threadIdx.x, width = 1 << shape.bits;
  State state = part.load();
  int side = 0;
  states[side][t] = state;
  for (int distance = width; distance < kThreads; distance *= 2) {
    __syncthreads();
    if (t >= distance) state = op.combine(states[side][t - distance], state);
    side = 1 - side;
    states[side][t] = state;
  }
  __syncthreads();
  const int64_t number = part.line + part.column();
  const bool follows = part.chunk > 0 && number < shape.lines();
  if (follows) state = before[shape.chunk_at(number, part.chunk - 1, chunks - 1)];
  if (t >= width) {
    const State& own = states[side][t - width];
    state = follows ? op.combine(state, own) : own;
  }
  for (int j = 0; (follows || t >= width) && j < kEach; ++j) {
    State& own = part.at(part.row() + j, part.column());
    own = op.combine(state, own);
  }
  __syncthreads();
  part.each([&](const State& state, const Line<T>& own, int64_t i) {
    if (i >= 0) op.store(state, own.place(i));
  });
}

template <class T, class Op>
void scan(const Op& op, const Shape& shape) {
  using State = typename Op::State;
  const int64_t chunks = shape.chunks - 1, item = sizeof(State);
  const Scratch<State> states(shape.lines() * chunks);
  if (chunks > 0) {
    launch<chunk_states<T, Op>>({shape.groups() * chunks, kThreads}, op, shape, states.data());
    scan<State>(running(op, states.data()),
                Shape(reinterpret_cast<const char*>(states.data()), shape.outer, chunks,
                      shape.inner, chunks * shape.inner * item, shape.inner * item, item, false));
  }
  launch<scan_chunks<T, Op>>({shape.groups() * shape.chunks, kThreads}, op, shape, states.data());
}

template <class T, class Op>
void run(const Op& op, const ScanArgs& args) {
  const Dims& strides = args.strides;
  scan<T>(op, Shape(args.x, args.outer, args.size, args.inner, strides[0], strides[1], strides[2],
                    args.reverse));
}

#include "core/scan_by_dtype.h"

}  // namespace

const ScanTable scan_table = {values<Sum>,   values<Product>, logsumexp,
                              extreme<true>, extreme<false>,  linear};

}  // namespace tt::cuda
