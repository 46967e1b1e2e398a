// The pieces of every reduction of ops.def, over floats (reduce.cpp, once per instruction set) and
// the other dtypes (reduce_int.cpp, once). Note [Reductions] in src/README.md says why the lanes
// are 32 whatever the width of a vector.
#pragma once
#include "cpu/arg_kernels.h"
#include "cpu/dtype_sets.h"
#include "cpu/int_math.h"
#include "cpu/tables.h"

namespace tt::cpu {
namespace {

#include "core/functors.h"

static_assert(kLanes * sizeof(float) % kVectorBytes == 0);
// The product of 128 numbers may be too small to be normal, where arithmetic is slow: a product of
// many more is 0 most of the time.
template <class F>
constexpr int64_t chunk_of = std::is_same_v<F, prod_op> ? 64 * kChunk : kChunk;

template <class T>
Vec<T> load(const char* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class F, class T>
void init(char* states, int64_t count) {
  T* s = reinterpret_cast<T*>(states);
  for (int64_t j = 0; j < count; ++j) s[j] = F::template init<T>();
}

// The last `count` of n elements, the other lanes neutral. A row's tail is taken from the vector
// that ends with it; only a row shorter than that is loaded lane by lane.
template <class F, class T>
Vec<T> load_tail(const char* x, int64_t n, int64_t count) {
  const T* const elements = reinterpret_cast<const T*>(x);
  if (n < lanes<T>) return load_partial(elements, n, F::template init<T>());
  Mask<T> places{};
  for (int l = 0; l < lanes<T>; ++l) places[l] = l;
  const std::decay_t<decltype(places[0])> skipped = lanes<T> - count;
  return __builtin_shuffle(load(elements + n - lanes<T>), F::template init<Vec<T>>(),
                           places + skipped);
}

template <class F, class T>
void inner_row(char* states, const char* x, int64_t n, bool first) {
  constexpr int kVectors = kLanes / lanes<T>;
  Vec<T> acc[kVectors];
  for (int v = 0; v < kVectors; ++v)
    acc[v] = first ? F::template init<Vec<T>>() : load<T>(states + v * kVectorBytes);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v)
      acc[v] = F::step(acc[v], load<T>(x + i * sizeof(T) + v * kVectorBytes));
  for (int v = 0; v < kVectors; ++v) {  // the tail
    const int64_t count = n - i - v * lanes<T>;
    if (count <= 0) break;
    const bool whole = count >= lanes<T>;
    acc[v] = F::step(acc[v], whole ? load<T>(x + i * sizeof(T) + v * kVectorBytes)
                                   : load_tail<F, T>(x, n, count));
  }
  __builtin_memcpy(states, acc, sizeof acc);
}
template <class F, class T>
void inner(char* states, const char* x, int64_t n, bool first, int64_t rows, int64_t row_step) {
  for (int64_t r = 0; r < rows; ++r)
    inner_row<F, T>(states + r * kLanes * sizeof(T), x + r * row_step, n, first);
}

// Vectors x and y hold rows of kWidth lanes each, one after the other. Their halves combined: a
// vector of twice as many rows, half as wide.
template <class F, class T, int kWidth>
Vec<T> combine_halves(Vec<T> x, Vec<T> y) {
  constexpr int kHalf = kWidth / 2;
  Mask<T> first{};
  for (int i = 0; i < lanes<T>; ++i) first[i] = i / kHalf * kWidth + i % kHalf;
  return F::combine(__builtin_shuffle(x, y, first), __builtin_shuffle(x, y, first + kHalf));
}
// The same of kWidth vectors of one row each, down to one vector.
template <class F, class T, int kWidth>
void halve(Vec<T>* rows) {
  for (int v = 0; v < kWidth / 2; ++v)
    rows[v] = combine_halves<F, T, kWidth>(rows[2 * v], rows[2 * v + 1]);
  if constexpr (kWidth > 2) halve<F, T, kWidth / 2>(rows);
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
    halve<F, T, lanes<T>>(folded);
    __builtin_memcpy(out + start * sizeof(T), folded, n * sizeof(T));
  }
}

// kVectors vectors of states, stepped with each of the rows from `begin` on.
template <class F, class T, int kVectors>
void step_vectors(char* to, const char* from, const char* const* rows, int64_t begin, int64_t end,
                  int64_t step, int64_t offset) {
  Vec<T> acc[kVectors];
  for (int v = 0; v < kVectors; ++v) acc[v] = load<T>(from + v * kVectorBytes);
  for (int64_t r = begin; r < end; r += step)
    for (int v = 0; v < kVectors; ++v)
      acc[v] = F::step(acc[v], load<T>(rows[r] + offset + v * kVectorBytes));
  __builtin_memcpy(to, acc, sizeof acc);
}

// One lane steps with the rows begin, begin + step, ...
template <class F, class T>
void step_columns(char* state, const char* const* rows, int64_t begin, int64_t end, int64_t step,
                  int64_t width) {
  constexpr int64_t kVectors = 4, kWide = kVectors * kVectorBytes;
  const int64_t bytes = width * sizeof(T);
  if (bytes < kVectorBytes) {
    T* const s = reinterpret_cast<T*>(state);
    for (int64_t r = begin; r < end; r += step)
      for (int64_t j = 0; j < width; ++j) {
        T element;
        __builtin_memcpy(&element, rows[r] + j * sizeof(T), sizeof(T));
        s[j] = F::step(s[j], element);
      }
    return;
  }
  // A last vector that is not whole overlaps the one before: it is computed first, from states that
  // have not been stepped yet.
  const bool ragged = bytes % kVectorBytes != 0;
  const int64_t at = bytes - kVectorBytes;
  Vec<T> last{};
  if (ragged)
    step_vectors<F, T, 1>(reinterpret_cast<char*>(&last), state + at, rows, begin, end, step, at);
  int64_t j = 0;
  for (; j + kWide <= bytes; j += kWide)
    step_vectors<F, T, kVectors>(state + j, state + j, rows, begin, end, step, j);
  for (; j + kVectorBytes <= bytes; j += kVectorBytes)
    step_vectors<F, T, 1>(state + j, state + j, rows, begin, end, step, j);
  if (ragged) __builtin_memcpy(state + at, &last, sizeof last);
}

template <class F, class T>
void outer(char* states, const char* const* rows, int64_t n, int64_t count, int64_t width) {
  constexpr int64_t kRows = 8;  // are read side by side, and share a load and a store of the state
  for (int64_t first = 0; first < n; first += kRows * count)
    for (int64_t lane = 0; lane < count && first + lane < n; ++lane) {
      const int64_t end = first + kRows * count;
      step_columns<F, T>(states + lane * width * sizeof(T), rows, first + lane, end < n ? end : n,
                         count, width);
    }
}

// n <= kLanes rows: each lane has one element.
template <class F, class T>
void few(const char* const* rows, int64_t n, int64_t width, char* out) {
  auto column = [&](auto zero, int64_t at) {
    using V = decltype(zero);
    V acc[kLanes];
    for (int64_t r = 0; r < n; ++r) {
      V element;
      __builtin_memcpy(&element, rows[r] + at, sizeof element);
      acc[r] = F::step(F::template init<V>(), element);
    }
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half && i + half < n; ++i) acc[i] = F::combine(acc[i], acc[i + half]);
    __builtin_memcpy(out + at, acc, sizeof(V));
  };
  const int64_t bytes = width * sizeof(T);
  int64_t at = 0;
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) column(Vec<T>{}, at);
  for (; at < bytes; at += sizeof(T)) column(T{}, at);
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

template <class F, class T, class R>
void finish(const char* states, int64_t n, char* out, int64_t count) {
  const T* s = reinterpret_cast<const T*>(states);
  R* answers = reinterpret_cast<R*>(out);
  for (int64_t j = 0; j < count; ++j) {
    const T answer = F::finish(s[j], static_cast<T>(n));
    if constexpr (std::is_same_v<R, bool>)
      answers[j] = answer != T{};
    else
      answers[j] = answer;
  }
}

enum class Result { Same, Sum, Float, Bool };

// bool elements are bytes of 0 and 1 here: amax, any and all of them need nothing else.
template <class F, class Type, Result result>
void kernel(const ReduceArgs& args) {
  using T = std::conditional_t<std::is_same_v<Type, bool>, uint8_t, Type>;
  using R = std::conditional_t<result == Result::Bool || std::is_same_v<Type, bool>, bool, T>;
  run_reduce(args,
             {inner<F, T>, fold_rows<F, T>, init<F, T>, outer<F, T>, fold<F, T>, few<F, T>,
              combine<F, T>, finish<F, T, R>, sizeof(T), kFloatKernels ? kLanes : 1, chunk_of<F>});
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

constexpr ReduceTable make_reduce_table() {
  ReduceTable table{};
  int op = 0;
#define REDUCE(name, result, set, ...) fill<name##_op, set, Result::result>(table.kernels[op++]);
#include "core/ops.def"
  fill_arg<true>(table.argmax);
  fill_arg<false>(table.argmin);
  return table;
}

}  // namespace
}  // namespace tt::cpu
