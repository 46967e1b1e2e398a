// The pieces of every reduction of ops.def, over floats (reduce.cpp, once per instruction set) and
// the other dtypes (reduce_int.cpp, once). Note [Reductions] in src/README.md says why the lanes
// are 32 whatever the width of a vector.
#pragma once
#include "cpu/dtype_sets.h"
#include "cpu/int_math.h"
#include "cpu/tables.h"

namespace tt::cpu {
namespace {

#include "core/functors.h"

constexpr int kLanes = 32;  // element r of a chunk goes to lane r % 32

// state = the 32 lanes combined in halves: 16 apart, 8 apart, ...
template <class F, class T>
T combine_lanes(T* states) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) states[i] = F::combine(states[i], states[i + half]);
  return states[0];
}

template <class F, class T>
void inner(const char* x, int64_t n, char* state) {
  constexpr int kVectors = kLanes / lanes<T>;
  Vec<T> acc[kVectors];
  for (auto& a : acc) a = F::template init<Vec<T>>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) {
      Vec<T> elements;
      __builtin_memcpy(&elements, x + (i + v * lanes<T>)*sizeof(T), sizeof elements);
      acc[v] = F::step(acc[v], elements);
    }
  alignas(64) T states[kLanes];
  if (i < n) {  // the tail, padded with the neutral element, through the same step
    for (T& s : states) s = F::template init<T>();
    __builtin_memcpy(states, x + i * sizeof(T), (n - i) * sizeof(T));
    for (int v = 0; v < kVectors; ++v) {
      Vec<T> elements;
      __builtin_memcpy(&elements, states + v * lanes<T>, sizeof elements);
      acc[v] = F::step(acc[v], elements);
    }
  }
  __builtin_memcpy(states, acc, sizeof states);
  const T result = combine_lanes<F, T>(states);
  __builtin_memcpy(state, &result, sizeof result);
}

// One lane of `width` columns steps with rows that stand kLanes apart: kRows of them at once, so
// that the states are loaded and stored once for all.
template <class F, class T, int kRows>
void step_columns(T* state, const char* const* rows, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    T s = state[j];
    for (int r = 0; r < kRows; ++r) {
      T element;
      __builtin_memcpy(&element, rows[r] + j * sizeof(T), sizeof(T));
      s = F::step(s, element);
    }
    state[j] = s;
  }
}

// As inner() for `columns` outputs at once: a row of the matrix steps one lane of every column.
template <class F, class T>
void outer(const char* x, const int64_t* offsets, int64_t n, int64_t columns, char* out) {
  constexpr int64_t kColumns = 8192 / sizeof(T);  // 256 KiB of states stay in the second cache
  constexpr int kRows = 4;
  alignas(64) T states[kLanes][kColumns];
  const int used = static_cast<int>(n < kLanes ? n : kLanes);
  for (int64_t start = 0; start < columns; start += kColumns) {
    const int64_t width = columns - start < kColumns ? columns - start : kColumns;
    const char* base = x + start * sizeof(T);
    for (int lane = 0; lane < used; ++lane)
      for (int64_t j = 0; j < width; ++j) states[lane][j] = F::template init<T>();
    for (int64_t first = 0; first < n; first += kRows * kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const char* rows[kRows];
        int count = 0;
        for (int64_t r = first + lane; r < n && count < kRows; r += kLanes)
          rows[count++] = base + offsets[r];
        if (count == kRows)
          step_columns<F, T, kRows>(states[lane], rows, width);
        else
          for (int r = 0; r < count; ++r) step_columns<F, T, 1>(states[lane], rows + r, width);
      }
    // A lane without elements is neutral, and skipped.
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half && i + half < used; ++i)
        for (int64_t j = 0; j < width; ++j)
          states[i][j] = F::combine(states[i][j], states[i + half][j]);
    __builtin_memcpy(out + start * sizeof(T), states[0], width * sizeof(T));
  }
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
  run_reduce(args, {inner<F, T>, outer<F, T>, combine<F, T>, finish<F, T, R>, sizeof(T)});
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
  return table;
}

}  // namespace
}  // namespace tt::cpu
