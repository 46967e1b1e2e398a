// Scans: each position's state is that of the one before it combined with its own element. One
// thread takes a short line; a block takes a long one in tiles, over which states are combined
// with those 1, 2, 4, ... places before them (Hillis and Steele, 1986).
#include "core/tables/scan.h"
#include "core/with_type.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/block.h"
#include "cuda/infra/elements.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/functors.h"

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

// x[outer, size, inner] as lines of size.
struct Shape {
  const char* x;
  int64_t outer, size, inner, strides[3];
  bool reverse;

  template <class T>
  __device__ Line<T> line(int64_t number) const {
    const int64_t o = number / inner, k = number % inner, first = reverse ? size - 1 : 0;
    const int64_t sign = reverse ? -1 : 1;
    return {x + o * strides[0] + first * strides[1] + k * strides[2], sign * strides[1],
            (o * size + first) * inner + k, sign * inner};
  }
};

template <class T, class Op>
__global__ void scan_by_thread(const Op op, const Shape shape) {
  const int64_t number = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= shape.outer * shape.inner) return;
  const Line<T> line = shape.line<T>(number);
  auto state = line.state(op, 0);
  op.store(state, line.place(0));
  for (int64_t i = 1; i < shape.size; ++i) {
    state = op.combine(state, line.state(op, i));
    op.store(state, line.place(i));
  }
}

template <class T, class Op>
__global__ void scan_by_block(const Op op, const Shape shape) {
  using State = typename Op::State;
  __shared__ State states[kThreads];
  const Line<T> line = shape.line<T>(blockIdx.x);
  const int t = threadIdx.x;
  for (int64_t tile = 0; tile < shape.size; tile += kThreads) {
    const int64_t i = tile + t;
    const bool inside = i < shape.size;
    State state{};
    if (inside) state = line.state(op, i);
    if (tile && t == 0) state = op.combine(states[kThreads - 1], state);  // the tile before
    __syncthreads();
    states[t] = state;
    for (int distance = 1; distance < kThreads; distance *= 2) {
      __syncthreads();
      if (t >= distance) state = op.combine(states[t - distance], state);
      __syncthreads();
      states[t] = state;
    }
    if (inside) op.store(state, line.place(i));
    __syncthreads();  // thread 0 reads the last one's
  }
}

constexpr int64_t kShort = 64;

template <class T, class Op>
void run(const Op& op, const ScanArgs& args) {
  const Shape shape{args.x,
                    args.outer,
                    args.size,
                    args.inner,
                    {args.strides[0], args.strides[1], args.strides[2]},
                    args.reverse};
  const int64_t lines = args.outer * args.inner;
  if (args.size > kShort)
    launch<scan_by_block<T, Op>>({lines, kThreads}, op, shape);
  else
    launch<scan_by_thread<T, Op>>({(lines + kThreads - 1) / kThreads, kThreads}, op, shape);
}

#include "core/scan_by_dtype.h"

}  // namespace

const ScanTable scan_table = {values<Sum>,   values<Product>, logsumexp,
                              extreme<true>, extreme<false>,  linear};

}  // namespace tt::cuda
