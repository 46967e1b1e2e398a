// Where the largest or smallest element of a line stands, logsumexp and the variance of a line.
#include "core/dtypes/dtype_sets.h"
#include "core/tables/reduce.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/fold.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// The first of those that are equal; a NaN counts as largest and as smallest.
template <class T, bool kLargest>
struct Extreme {
  struct State {
    T value;
    int64_t position;  // -1: there is none yet
  };
  char* values;  // or null
  DType dtype;
  int64_t* positions;

  __device__ State init() const { return {T{}, -1}; }
  __device__ State step(State s, const char* x, DType of, int64_t r) const {
    return combine(s, {load_as<T>(x, of), r});
  }
  __device__ State combine(State s, State t) const {
    if (t.position < 0) return s;
    if (s.position < 0 || beats(t.value, s.value)) return t;
    return beats(s.value, t.value) || s.position < t.position ? s : t;
  }
  __device__ void finish(State s, int64_t line) const {
    if (values) store_as<T>(values + line * itemsize(dtype), dtype, s.value);
    positions[line] = s.position;
  }
  __device__ static bool beats(T x, T y) {
    return (kLargest ? x > y : x < y) || (x != x && y == y);
  }
};

// sum e^(x - peak) next to the peak, which is the largest x so far.
template <class T>
struct LogSumExp {
  struct State {
    T peak, sum;
  };
  T* out;

  __device__ State init() const { return {-INFINITY, 0}; }
  __device__ State step(State s, const char* x, DType dtype, int64_t) const {
    return combine(s, {load_as<T>(x, dtype), 1});
  }
  // A peak may be infinite: e^0 is 1 without computing inf - inf. A NaN gets into the sum.
  __device__ State combine(State s, State t) const {
    const T peak = s.peak > t.peak ? s.peak : t.peak;
    const auto scaled = [=](State of) {
      return of.peak == peak ? of.sum : of.sum * exp(of.peak - peak);
    };
    return {peak, scaled(s) + scaled(t)};
  }
  __device__ void finish(State s, int64_t line) const { out[line] = log(s.sum) + s.peak; }
};

// The mean of the elements so far and their squared distances from it (Welford), in double: its
// distances neither overflow nor vanish.
template <class T>
struct Variance {
  struct State {
    double count, mean, squares;
  };
  T* out;
  double freedom;
  bool root, centered;

  __device__ State init() const { return {0, 0, 0}; }
  __device__ State step(State s, const char* x, DType dtype, int64_t) const {
    const double value = static_cast<double>(load_as<T>(x, dtype));
    return centered ? combine(s, {1, value, 0}) : State{0, 0, s.squares + value * value};
  }
  __device__ State combine(State s, State t) const {
    if (!centered) return {0, 0, s.squares + t.squares};
    if (s.count == 0) return t;
    if (t.count == 0) return s;
    const double distance = t.mean - s.mean, total = s.count + t.count;
    return {total, s.mean + distance * (t.count / total),
            s.squares + t.squares + distance * distance * (s.count * t.count / total)};
  }
  __device__ void finish(State s, int64_t line) const {
    const double variance = s.squares / freedom;
    out[line] = static_cast<T>(root ? sqrt(variance) : variance);
  }
};

template <class T, bool kLargest>
void extremes(const ArgArgs& args) {
  const DType dtype = args.lines.stream[0].dtype;
  run_fold(Extreme<T, kLargest>{args.values, dtype, args.positions}, folded_of(args.lines));
}

template <class T>
void logsumexp_as(const LogSumExpArgs& args) {
  run_fold(LogSumExp<T>{numbers<T>(args.out)}, folded_of(args.lines));
}
void logsumexp(const LogSumExpArgs& args) {
  args.lines.compute == DType::Float32 ? logsumexp_as<float>(args) : logsumexp_as<double>(args);
}

template <class T>
void variance_as(const VarianceArgs& args) {
  run_fold(Variance<T>{numbers<T>(args.out), args.freedom, args.root, args.centered},
           folded_of(args.lines));
}
void variance(const VarianceArgs& args) {
  args.lines.compute == DType::Float32 ? variance_as<float>(args) : variance_as<double>(args);
}

}  // namespace

void fill_extremes(ReduceTable& table) {
#define X(name, type, text, category)                                    \
  if constexpr (is_native<type>) {                                       \
    table.argmax[static_cast<int>(DType::name)] = extremes<type, true>;  \
    table.argmin[static_cast<int>(DType::name)] = extremes<type, false>; \
  }
  TT_FOR_EACH_DTYPE(X)
#undef X
  table.logsumexp = logsumexp;
  table.variance = variance;
}

}  // namespace tt::cuda
