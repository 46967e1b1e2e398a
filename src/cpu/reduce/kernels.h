// The pieces of every reduction of ops.def, over floats (reduce.cpp and
// extremes.cpp, once per instruction set) and the other dtypes (integers.cpp, once). Note
// [Reductions] in src/README.md says why the lanes are 32 whatever the width of a vector.
#pragma once
#include "core/dtypes/dtype_sets.h"
#include "core/tables/reduce.h"
#include "cpu/reduce/driver.h"
#include "cpu/vec/int_math.h"
#include "cpu/vec/vec_fold.h"

namespace tt::cpu {
namespace {

#include "core/formulas/functors.h"

static_assert(kLanes * sizeof(float) % kVectorBytes == 0);
// Lanes that elements are added up in; of integers any order is as good.
constexpr int kUsedLanes = kFloatKernels ? kLanes : 1;

// The product of 128 numbers may be too small to be normal, where arithmetic is slow: a product of
// many more is 0 most of the time.
template <class F>
constexpr int64_t chunk_of = std::is_same_v<F, prod_op> ? 64 * kChunk : kChunk;

// The next elements of T, which stand in memory as S: as T, or as one of the half types.
template <class T, class S = T>
Vec<T> load(const char* from) {
  return Whole<T>().load(reinterpret_cast<const S*>(from));
}

template <class F, class T>
void init(char* states, int64_t count) {
  T* s = reinterpret_cast<T*>(states);
  for (int64_t j = 0; j < count; ++j) s[j] = F::template init<T>();
}

// The last `count` of n elements, the other lanes neutral. A row's tail is taken from the vector
// that ends with it; only a row shorter than that is loaded lane by lane.
template <class F, class T, class S>
Vec<T> load_tail(const char* x, int64_t n, int64_t count) {
  if (n < lanes<T>) return Front<T>(n).load(reinterpret_cast<const S*>(x), F::template init<T>());
  Mask<T> places{};
  for (int l = 0; l < lanes<T>; ++l) places[l] = l;
  const std::decay_t<decltype(places[0])> skipped = lanes<T> - count;
  return __builtin_shuffle(load<T, S>(x + (n - lanes<T>)*sizeof(S)), F::template init<Vec<T>>(),
                           places + skipped);
}

template <class F, class T, class S>
void inner_row(char* states, const char* x, int64_t n, bool first) {
  constexpr int kVectors = kLanes / lanes<T>;
  constexpr int64_t kStep = lanes<T> * sizeof(S);
  Vec<T> acc[kVectors];
  for (int v = 0; v < kVectors; ++v)
    acc[v] = first ? F::template init<Vec<T>>() : load<T>(states + v * kVectorBytes);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v)
      acc[v] = F::step(acc[v], load<T, S>(x + i * sizeof(S) + v * kStep));
  for (int v = 0; v < kVectors; ++v) {  // the tail
    const int64_t count = n - i - v * lanes<T>;
    if (count <= 0) break;
    const bool whole = count >= lanes<T>;
    acc[v] = F::step(acc[v], whole ? load<T, S>(x + i * sizeof(S) + v * kStep)
                                   : load_tail<F, T, S>(x, n, count));
  }
  __builtin_memcpy(states, acc, sizeof acc);
}
template <class F, class T, class S>
void inner(char* states, const char* x, int64_t n, bool first, int64_t rows, int64_t row_step) {
  for (int64_t r = 0; r < rows; ++r)
    inner_row<F, T, S>(states + r * kLanes * sizeof(T), x + r * row_step, n, first);
}

// As inner, of a sum of bools: how many bytes are not 0. A byte of the counts holds up to 255.
inline void count_true(char* states, const char* x, int64_t n, bool first, int64_t rows,
                       int64_t row_step) {
  constexpr int64_t kBytes = lanes<uint8_t>;
  for (int64_t r = 0; r < rows; ++r, x += row_step, states += kLanes * sizeof(int64_t)) {
    if (first) __builtin_memset(states, 0, kLanes * sizeof(int64_t));
    int64_t total, i = 0;
    __builtin_memcpy(&total, states, sizeof total);
    while (i + kBytes <= n) {
      Vec<uint8_t> counts{};
      const int64_t most = i + 255 * kBytes, end = most < n ? most : n;
      for (; i + kBytes <= end; i += kBytes)
        counts -= reinterpret_cast<Vec<uint8_t>>(load<uint8_t>(x + i) != 0);
      for (int64_t l = 0; l < kBytes; ++l) total += counts[l];
    }
    for (; i < n; ++i) total += x[i] != 0;
    __builtin_memcpy(states, &total, sizeof total);
  }
}

// out[r] = the lanes of row r combined in halves: 16 apart, 8 apart, ...; as many rows as a vector
// has lanes, side by side.
template <class F, class T>
void fold_rows(const char* states, int64_t rows, char* out) {
  constexpr int kVectors = kLanes / lanes<T>;
  for (int64_t start = 0; start < rows; start += lanes<T>) {
    Vec<T> folded[lanes<T>]{};
    const int64_t n = rows - start < lanes<T> ? rows - start : lanes<T>;
    for (int64_t r = 0; r < n; ++r) {
      Vec<T> acc[kVectors];
      __builtin_memcpy(acc, states + (start + r) * sizeof acc, sizeof acc);
      for (int half = kVectors / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v) acc[v] = F::combine(acc[v], acc[v + half]);
      folded[r] = acc[0];
    }
    halve<T, lanes<T>>(folded, [](Vec<T> x, Vec<T> y) { return F::combine(x, y); });
    __builtin_memcpy(out + start * sizeof(T), folded, n * sizeof(T));
  }
}

// kVectors vectors of states, stepped with each of the rows from `begin` on, from a column on.
template <class F, class S, int kVectors, class T>
void step_vectors(T* to, const T* from, const char* const* rows, int64_t begin, int64_t end,
                  int64_t step, int64_t column) {
  constexpr int64_t kStep = lanes<T> * sizeof(S);
  Vec<T> acc[kVectors];
  __builtin_memcpy(acc, from, sizeof acc);
  for (int64_t r = begin; r < end; r += step)
    for (int v = 0; v < kVectors; ++v)
      acc[v] = F::step(acc[v], load<T, S>(rows[r] + column * sizeof(S) + v * kStep));
  __builtin_memcpy(to, acc, sizeof acc);
}

// One lane steps with the rows begin, begin + step, ...
template <class F, class S, class T>
void step_columns(T* state, const char* const* rows, int64_t begin, int64_t end, int64_t step,
                  int64_t width) {
  constexpr int64_t kVectors = 4, n = lanes<T>;
  if (width < n) {
    for (int64_t r = begin; r < end; r += step)
      for (int64_t j = 0; j < width; ++j) {
        S element;
        __builtin_memcpy(&element, rows[r] + j * sizeof(S), sizeof(S));
        state[j] = F::step(state[j], static_cast<T>(element));
      }
    return;
  }
  // A last vector that is not whole overlaps the one before: it is computed first, from states that
  // have not been stepped yet.
  const bool ragged = width % n != 0;
  const int64_t at = width - n;
  T last[n] = {};
  if (ragged) step_vectors<F, S, 1>(last, state + at, rows, begin, end, step, at);
  int64_t j = 0;
  for (; j + kVectors * n <= width; j += kVectors * n)
    step_vectors<F, S, kVectors>(state + j, state + j, rows, begin, end, step, j);
  for (; j + n <= width; j += n)
    step_vectors<F, S, 1>(state + j, state + j, rows, begin, end, step, j);
  if (ragged) __builtin_memcpy(state + at, last, sizeof last);
}

template <class F, class T, class S>
void outer(char* states, const char* const* rows, int64_t n, int64_t count, int64_t width) {
  // Rows that are read side by side, and share a load and a store of the state; of long ones fewer
  // at a time arrive sooner.
  const int64_t side_by_side = width * int64_t{sizeof(T)} > 4096 ? 4 : 8;
  for (int64_t first = 0; first < n; first += side_by_side * count)
    for (int64_t lane = 0; lane < count && first + lane < n; ++lane) {
      const int64_t end = first + side_by_side * count;
      step_columns<F, S>(reinterpret_cast<T*>(states) + lane * width, rows, first + lane,
                         end < n ? end : n, count, width);
    }
}

// Some columns: vectors of them, or one element.
template <class V, int kVectors>
struct Columns {
  V v[kVectors];
};
template <class F, class V, int kVectors>
void combine(Columns<V, kVectors>& a, const Columns<V, kVectors>& b) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) a.v[v] = F::combine(a.v[v], b.v[v]);
}

// The elements at `at` in the rows of lanes lane, lane + kStep, ...: each lane's added up, and
// combined as fold() does, but depth first. So what waits for its partner stays in registers.
template <class F, class S, int kStep, class V, int kVectors>
__attribute__((always_inline)) inline void sum_lanes(Columns<V, kVectors>& sum,
                                                     const char* const* rows, int64_t n,
                                                     int64_t lane, int64_t at) {
  if constexpr (kStep == kUsedLanes) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum.v[v] = F::template init<V>();
    for (int64_t r = lane; r < n; r += kUsedLanes)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (std::is_arithmetic_v<V>) {
          S element;
          __builtin_memcpy(&element, rows[r] + at, sizeof element);
          sum.v[v] = F::step(sum.v[v], static_cast<V>(element));
        } else {
          constexpr int64_t kBytes = sizeof(V) / sizeof(Element<V>) * sizeof(S);
          sum.v[v] = F::step(sum.v[v], load<Element<V>, S>(rows[r] + at + v * kBytes));
        }
      }
  } else {
    sum_lanes<F, S, 2 * kStep>(sum, rows, n, lane, at);
    if (lane + kStep >= n) return;
    Columns<V, kVectors> other;
    sum_lanes<F, S, 2 * kStep>(other, rows, n, lane + kStep, at);
    combine<F>(sum, other);
  }
}

// parts[0] = the first kParts * 2 of n parts, combined in halves.
template <class F, int kParts, class C>
void combine_parts(C* parts, int64_t n) {
  if constexpr (kParts > 0) {
#pragma GCC unroll 4
    for (int q = 0; q < kParts; ++q)
      if (q + kParts < n) combine<F>(parts[q], parts[q + kParts]);
    combine_parts<F, kParts / 2>(parts, n);
  }
}

// Some columns are read to their end before the next: every state is a register, and in memory
// nothing is written but the answer.
template <class F, class T, class S>
void columns(const char* const* rows, int64_t n, int64_t width, char* out) {
  auto answer = [=](auto columns, int64_t j) {
    constexpr int kParts = kFloatKernels ? 8 : 1;  // code for all lanes would be long
    decltype(columns) parts[kParts];
    int64_t q = 0;
    do sum_lanes<F, S, kParts>(parts[q], rows, n, q, j * sizeof(S));
    while (++q < kParts && q < n);
    combine_parts<F, kParts / 2>(parts, n);
    __builtin_memcpy(out + j * sizeof(T), &parts[0], sizeof columns);
  };
  constexpr int kMany = 256 / kVectorBytes;
  int64_t j = 0;
  for (; j + kMany * lanes<T> <= width; j += kMany * lanes<T>) answer(Columns<Vec<T>, kMany>(), j);
  for (; j + lanes<T> <= width; j += lanes<T>) answer(Columns<Vec<T>, 1>(), j);
  if (j < width && width >= lanes<T>)  // once more what the vector before has
    return answer(Columns<Vec<T>, 1>(), width - lanes<T>);
  for (; j < width; ++j) answer(Columns<T, 1>(), j);
}

template <class F, class T>
void fold(char* states, int64_t used, int64_t width, char* out) {
  T* s = reinterpret_cast<T*>(states);
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half && i + half < used; ++i) {
      T *to = s + i * width, *from = s + (i + half) * width;
      for (int64_t j = 0; j < width; ++j) to[j] = F::combine(to[j], from[j]);
    }
  __builtin_memcpy(out, states, width * sizeof(T));
}

template <class F, class T>
void combine(char* states, const char* others, int64_t count) {
  T* s = reinterpret_cast<T*>(states);
  const T* t = reinterpret_cast<const T*>(others);
  for (int64_t j = 0; j < count; ++j) s[j] = F::combine(s[j], t[j]);
}

// A sum on the way may overflow where the answer does not.
template <class F, class T>
constexpr bool may_overflow =
    std::is_floating_point_v<T> &&
    (std::is_same_v<F, sum_op> || std::is_same_v<F, nansum_op> || std::is_same_v<F, mean_op>);

template <class F, class T, class R>
bool finish(const char* states, int64_t n, char* out, int64_t count) {
  const T* s = reinterpret_cast<const T*>(states);
  R* answers = reinterpret_cast<R*>(out);
  int odd = 0;
  for (int64_t j = 0; j < count; ++j) {
    const T answer = F::finish(s[j], static_cast<T>(n));
    if constexpr (std::is_same_v<R, bool>)
      answers[j] = answer != T{};
    else
      answers[j] = answer;
    if constexpr (may_overflow<F, T>) odd |= answer - answer != 0;
  }
  return odd == 0;
}

template <class F>
void step_again(double* state, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) *state = F::step(*state, x[i] * kDown);
}
template <class F, class T>
void finish_again(double state, int64_t n, char* out) {
  const T answer = static_cast<T>(F::finish(state, static_cast<double>(n)) / kDown);
  __builtin_memcpy(out, &answer, sizeof answer);
}

enum class Result { Same, Sum, Float, Bool };

template <class F, class T, class R>
constexpr ReduceOps ops_of() {
  constexpr ReduceOps::Reader native = {inner<F, T, T>, columns<F, T, T>, outer<F, T, T>};
  ReduceOps ops = {native,          {},         {},         {},
                   fold_rows<F, T>, init<F, T>, fold<F, T>, combine<F, T>,
                   finish<F, T, R>, sizeof(T),  kUsedLanes, chunk_of<F>};
  if constexpr (std::is_same_v<T, float>) {
#ifdef __F16C__
    ops.half = {inner<F, T, Half>, columns<F, T, Half>, outer<F, T, Half>};
#endif
    ops.bfloat16 = {inner<F, T, BFloat16>, columns<F, T, BFloat16>, outer<F, T, BFloat16>};
  }
  if constexpr (may_overflow<F, T>)
    ops.step_again = step_again<F>, ops.finish_again = finish_again<F, T>;
  if constexpr (std::is_same_v<F, sum_op> && std::is_same_v<T, int64_t>)
    ops.boolean = {count_true, nullptr, nullptr};
  return ops;
}

// bool elements are bytes of 0 and 1 here: amax, any and all of them need nothing else.
template <class F, class Type, Result result>
void kernel(const ReduceArgs& args) {
  using T = std::conditional_t<std::is_same_v<Type, bool>, uint8_t, Type>;
  using R = std::conditional_t<result == Result::Bool || std::is_same_v<Type, bool>, bool, T>;
  static constexpr ReduceOps ops = ops_of<F, T, R>();
  run_reduce(args, ops);
}

template <class F, class Set, Result result>
constexpr void fill(ReduceKernel (&entries)[kDTypes]) {
#define X(name, type, text, category)                            \
  if constexpr (Set::template has<type> && is_native<type> &&    \
                std::is_floating_point_v<type> == kFloatKernels) \
    entries[static_cast<int>(DType::name)] = kernel<F, type, result>;
  TT_FOR_EACH_DTYPE(X)
#undef X
}

// What is_here of ops.def's reductions.
constexpr ReduceTable make_reduce_table() {
  ReduceTable table{};
#define REDUCE(name, result, set, ...) \
  if constexpr (is_here(Reduce::name)) \
    fill<name##_op, set, Result::result>(table.kernels[static_cast<int>(Reduce::name)]);
#include "core/ops.def"
  return table;
}

}  // namespace
}  // namespace tt::cpu
