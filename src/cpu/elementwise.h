// The rows of every elementwise kernel, over any op of ops.def and element type.
//
// Included by elementwise.cpp (what ops.def's sets of dtypes call fast: most floats, once per
// instruction set) and elementwise_common.cpp (the rest, once). Each element goes through the same
// vector code wherever it stands: a tail and a strided row are gathered into a padded vector first.
#pragma once
#include "cpu/dtype_sets.h"
#include "cpu/int_math.h"
#include "cpu/run.h"
#include "cpu/vec_special.h"

namespace tt::cpu {
namespace {

#include "core/functors.h"

// A bool in memory is true if it is not 0. In a vector it is all bits or none, so that the
// integers' expressions serve: ~x, x + y and x * y come out right, read as "not 0".
template <class T>
Vec<T> from_memory(Vec<T> v) {
  if constexpr (std::is_same_v<T, bool>)
    return (Vec<bool>)(v != Vec<bool>{});
  else
    return v;
}
template <class T>
Vec<T> to_memory(Vec<T> v) {
  if constexpr (std::is_same_v<T, bool>)
    return (Vec<bool>)(v != Vec<bool>{}) & 1;
  else
    return v;
}

template <class T>
Vec<T> load_row(const char* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return from_memory<T>(v);
}

// GCC leaves out vzeroupper around calls of functions of this file of which it knows that they use
// no vectors, and in what it returns to each SSE instruction then waits: 240 ns for a row of three.
#ifdef __clang__
#define TT_APART __attribute__((noinline))
#else
#define TT_APART __attribute__((noipa))
#endif

// n <= lanes elements, `stride` bytes apart; the other lanes are 1, which no op objects to. Not
// inlined, as scatter is not: each op has several of both, of which few are ever run.
template <class T>
TT_APART Vec<T> gather(const char* from, int64_t stride, int64_t n) {
  Vec<T> v = Vec<T>{} + 1;
  auto copy = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      __builtin_memcpy(reinterpret_cast<char*>(&v) + i * sizeof(T), from + i * stride, sizeof(T));
  };
  if (n == lanes<T>)
    copy(lanes<T>);
  else
    copy(n);
  return from_memory<T>(v);
}

template <class T>
TT_APART void scatter(char* to, int64_t stride, int64_t n, const char* elements) {
  auto copy = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      __builtin_memcpy(to + i * stride, elements + i * sizeof(T), sizeof(T));
  };
  if (n == lanes<T>)
    copy(lanes<T>);
  else
    copy(n);
}

// Calls emit(i, n, x...) with the row's elements [i, i + n) in vectors: n is a vector's lanes, or
// less in the last call.
template <class T, int kInputs, class Emit>
void for_each_vector(char* const* data, const int64_t* strides, int64_t n, Emit&& emit) {
  constexpr int kLanes = lanes<T>;
  constexpr int64_t kSize = sizeof(T);
  bool contiguous = true;
  for (int k = 1; k <= kInputs; ++k) contiguous &= strides[k] == kSize || strides[k] == 0;
  int64_t i = 0;
  if (contiguous) {
    Vec<T> fixed[kInputs] = {};  // operands that are broadcast along the row
    for (int k = 0; k < kInputs; ++k)
      if (strides[k + 1] == 0) {
        T value;
        __builtin_memcpy(&value, data[k + 1], sizeof value);
        fixed[k] = from_memory<T>(Vec<T>{} + value);
      }
    auto input = [&](int k, int64_t at) {
      return strides[k + 1] == 0 ? fixed[k] : load_row<T>(data[k + 1] + at * kSize);
    };
    for (; i + kLanes <= n; i += kLanes) {
      if constexpr (kInputs == 1)
        emit(i, int64_t{kLanes}, input(0, i));
      else if constexpr (kInputs == 2)
        emit(i, int64_t{kLanes}, input(0, i), input(1, i));
      else if constexpr (kInputs == 3)
        emit(i, int64_t{kLanes}, input(0, i), input(1, i), input(2, i));
      else
        emit(i, int64_t{kLanes}, input(0, i), input(1, i), input(2, i), input(3, i));
    }
  }
  for (; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    auto input = [&](int k) {
      return gather<T>(data[k + 1] + i * strides[k + 1], strides[k + 1], count);
    };
    if constexpr (kInputs == 1)
      emit(i, count, input(0));
    else if constexpr (kInputs == 2)
      emit(i, count, input(0), input(1));
    else if constexpr (kInputs == 3)
      emit(i, count, input(0), input(1), input(2));
    else
      emit(i, count, input(0), input(1), input(2), input(3));
  }
}

// `loop`, whose result is contiguous, into a row that is not: by way of a buffer, since a call
// among an op's vectors would cost it its registers.
template <class T, int kInputs>
__attribute__((noinline)) void spread(Loop loop, char* const* data, const int64_t* strides,
                                      int64_t n) {
  constexpr int64_t kPart = 16 * lanes<T>;
  Vec<T> buffer[16];
  char* const elements = reinterpret_cast<char*>(buffer);
  for (int64_t i = 0; i < n; i += kPart) {
    const int64_t count = n - i < kPart ? n - i : kPart;
    char* at[1 + kInputs] = {elements};
    int64_t steps[1 + kInputs] = {sizeof(T)};
    for (int k = 1; k <= kInputs; ++k) {
      at[k] = data[k] + i * strides[k];
      steps[k] = strides[k];
    }
    loop(at, steps, count);
    scatter<T>(data[0] + i * strides[0], strides[0], count, elements);
  }
}

// out = F(x, ...), elements of T throughout.
template <class F, class T, int kInputs>
void row(char* const* data, const int64_t* strides, int64_t n) {
  if (strides[0] != sizeof(T)) return spread<T, kInputs>(row<F, T, kInputs>, data, strides, n);
  char* const out = data[0];
  for_each_vector<T, kInputs>(data, strides, n, [&](int64_t i, int64_t count, auto... x) {
    const Vec<T> result = to_memory<T>(F::apply(x...));
    if (count == lanes<T>)
      __builtin_memcpy(out + i * sizeof(T), &result, sizeof result);
    else
      scatter<T>(out + i * sizeof(T), sizeof(T), count, reinterpret_cast<const char*>(&result));
  });
}

// out = F(x, ...), bools from elements of T.
template <class F, class T, int kInputs>
void mask_row(char* const* data, const int64_t* strides, int64_t n) {
  char* const out = data[0];
  const int64_t stride = strides[0];
  for_each_vector<T, kInputs>(data, strides, n, [&](int64_t i, int64_t count, auto... x) {
    if (stride == 1 && count == lanes<T>) {
      store_mask<T>(reinterpret_cast<bool*>(out + i), F::apply(x...));
    } else {
      bool result[lanes<T>];
      store_mask<T>(result, F::apply(x...));
      scatter<bool>(out + i * stride, stride, count, reinterpret_cast<const char*>(result));
    }
  });
}

struct where_op {
  template <class V>
  static V apply(V condition, V x, V y) {
    return select(condition != V{}, x, y);
  }
};

struct nan_to_num_op {
  template <class V>
  static V apply(V x, V nan, V posinf, V neginf) {
    if constexpr (is_float<V>) {
      const V number = select(x != x, nan, x);
      return select(is_infinite(x), select(x > V{}, posinf, neginf), number);
    }
    return x;
  }
};

template <class F, class T, int kInputs>
void kernel(const Iter& iter) {
  run(iter, row<F, T, kInputs>);
}
template <class F, class T, int kInputs>
void mask_kernel(const Iter& iter) {
  run(iter, mask_row<F, T, kInputs>);
}

enum class Kind { Arithmetic, Mask };

// The table's entry, or nullptr where T is not in the op's set or not of this file's dtypes.
template <class F, class Set, class T, int kInputs, Kind kind>
constexpr Kernel entry() {
  if constexpr (!Set::template has<T> || !is_native<T> || Set::template fast<T> != kFastKernels)
    return nullptr;
  else if constexpr (kind == Kind::Mask)
    return mask_kernel<F, T, kInputs>;
  else
    return kernel<F, T, kInputs>;
}

template <class F, class Set, int kInputs, Kind kind = Kind::Arithmetic>
constexpr void fill(Kernel (&entries)[kDTypes]) {
#define X(name, type, text, category) \
  entries[static_cast<int>(DType::name)] = entry<F, Set, type, kInputs, kind>();
  TT_FOR_EACH_DTYPE(X)
#undef X
}

constexpr ElementwiseTable make_elementwise_table() {
  ElementwiseTable table{};
  int unary = 0, binary = 0, ternary = 0, quaternary = 0;
#define UNARY(name, result, set, ...) fill<name##_op, set, 1>(table.unary[unary++]);
#define BINARY(name, result, set, ...) fill<name##_op, set, 2>(table.binary[binary++]);
#define TEST(name, set, ...) fill<name##_op, set, 1, Kind::Mask>(table.unary[unary++]);
#define COMPARE(name, set, ...) fill<name##_op, set, 2, Kind::Mask>(table.binary[binary++]);
#define TERNARY(name, result, set, ...) fill<name##_op, set, 3>(table.ternary[ternary++]);
#define QUATERNARY(name, result, set, ...) fill<name##_op, set, 4>(table.quaternary[quaternary++]);
#include "core/ops.def"
  fill<where_op, All, 3>(table.where);
  fill<nan_to_num_op, All, 4>(table.nan_to_num);
  return table;
}

}  // namespace
}  // namespace tt::cpu
