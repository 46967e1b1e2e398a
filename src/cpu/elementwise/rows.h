// The rows of every elementwise kernel, over any op of ops.def and element type.
//
// Included by unary.cpp and elementwise.cpp (what ops.def's sets of dtypes call fast: most floats,
// once per instruction set; two files, to build at once) and common.cpp (the rest, once). Each says
// by is_here(inputs, fast) which kernels it has. Each element goes through the same
// vector code wherever it stands: run() gathers what does not lie side by side, and a tail is a
// vector of which not all lanes are read and written.
#pragma once
#include "core/dtypes/dtype_sets.h"
#include "core/tables/elementwise.h"
#include "cpu/infra/run.h"
#include "cpu/vec/int_math.h"
#include "cpu/vec/vec_bessel.h"
#include "cpu/vec/vec_special.h"

namespace tt::cpu {
namespace {

#include "core/formulas/functors.h"

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

// GCC omits vzeroupper before it calls a function that it knows to use no vectors. After such a
// call each SSE instruction waits, 240 ns for a row of three: GCC is not to know what is in these.
#ifdef __clang__
#define TT_APART __attribute__((noinline))
#else
#define TT_APART __attribute__((noipa))
#endif

#ifndef __AVX512BW__
// `row` over fewer elements than a vector has, by way of whole vectors, whose other lanes are 1,
// which no op objects to. `item`: of the output. Not inlined: each op has one, and few ever run.
template <class T, class Stored>
TT_APART void few(Loop row, int inputs, char* const* data, const int64_t* strides, int64_t n,
                  int64_t item) {
  Vec<T> blocks[Iter::kMaxOperands];
  char* at[Iter::kMaxOperands];
  for (int k = 0; k <= inputs; ++k) {
    at[k] = reinterpret_cast<char*>(&blocks[k]);
    if (k == 0) continue;
    blocks[k] = splat<T>(1);
    const int64_t bytes = strides[k] == 0 ? sizeof(T) : n * sizeof(Stored);
    for (int64_t i = 0; i < bytes; i += sizeof(Stored))
      __builtin_memcpy(at[k] + i, data[k] + i, sizeof(Stored));
  }
  row(at, strides, lanes<T>);
  for (int64_t i = 0; i < n * item; ++i) data[0][i] = at[0][i];
}
#endif

// So many bytes ahead the output is prefetched: the processor alone fetches late what is written.
constexpr int64_t kAhead = 2048;

// out = F(x, ...). Elements lie side by side, or an input is one element that is repeated. They are
// of T; the output may be of bools (kMask). Halves: memory holds Stored, a register T, which is
// float, and an element that is repeated is a float in memory, too.
template <class F, class T, int kInputs, bool kMask, class Stored = T>
void row(char* const* data, const int64_t* strides, int64_t n) {
  constexpr bool kHalves = !std::is_same_v<Stored, T>;
  constexpr int64_t kItem = kMask ? 1 : sizeof(Stored);
  char* out = data[0];
  const char* from[kInputs];
  int64_t step[kInputs];
  Vec<T> repeated[kInputs];
#pragma GCC unroll 4
  for (int k = 0; k < kInputs; ++k) {
    from[k] = data[k + 1];
    step[k] = lanes<T> * sizeof(Stored);
    if (strides[k + 1] != 0) continue;
    Element<Vec<T>> value;
    __builtin_memcpy(&value, from[k], sizeof value);
    repeated[k] = splat(value);
    from[k] = reinterpret_cast<const char*>(&repeated[k]);
    step[k] = 0;
  }
  auto apply = [&](auto input) __attribute__((always_inline)) {
    if constexpr (kInputs == 1)
      return F::apply(input(0));
    else if constexpr (kInputs == 2)
      return F::apply(input(0), input(1));
    else if constexpr (kInputs == 3)
      return F::apply(input(0), input(1), input(2));
    else
      return F::apply(input(0), input(1), input(2), input(3));
  };
  // One vector of the output: a whole one, or what is left over, the front of one. Inlined early,
  // or the addresses would stay in memory, and the row be three times slower.
  auto vector = [&](auto whole, Front<T> front) __attribute__((always_inline)) {
    constexpr bool kFull = decltype(whole)::value;
    auto input = [&](int k) __attribute__((always_inline)) {
      if constexpr (kHalves) {
        return step[k] == 0 ? repeated[k] : front.load(reinterpret_cast<const Stored*>(from[k]));
      } else {
        Vec<T> v;
        if constexpr (kFull)
          __builtin_memcpy(&v, from[k], sizeof v);
        else
          v = front.load(from[k], T{1});
        return from_memory<T>(v);
      }
    };
    auto result = apply(input);
    if constexpr (kHalves)
      front.store(reinterpret_cast<Stored*>(out), result);
    else if constexpr (kMask && kFull)
      store_mask<T>(reinterpret_cast<bool*>(out), result);
    else if constexpr (kMask)
      front.store_mask(reinterpret_cast<bool*>(out), result);
    else if constexpr (kFull)
      store(reinterpret_cast<Element<Vec<T>>*>(out), to_memory<T>(result));
    else
      front.store(out, to_memory<T>(result));
  };
  // Two vectors of bfloat16 at once: the lower and the upper halves of words. No lane is moved.
  if constexpr (std::is_same_v<Stored, BFloat16>) {
    for (; n >= 2 * lanes<T>; n -= 2 * lanes<T>) {
      __builtin_prefetch(out + kAhead);
      Vec<uint32_t> words[kInputs];
#pragma GCC unroll 4
      for (int k = 0; k < kInputs; ++k) {
        if (step[k] != 0) __builtin_memcpy(&words[k], from[k], sizeof words[k]);
        from[k] += 2 * step[k];
      }
      const Vec<T> low = apply([&](int k) __attribute__((always_inline)) {
        return step[k] == 0 ? repeated[k] : from_bits(words[k] << 16);
      });
      const Vec<T> high = apply([&](int k) __attribute__((always_inline)) {
        return step[k] == 0 ? repeated[k] : from_bits(words[k] & 0xffff0000);
      });
      const Vec<uint32_t> pairs = pairs_of(low, high);
      __builtin_memcpy(out, &pairs, sizeof pairs);
      out += sizeof pairs;
    }
  }
  for (; n >= lanes<T>; n -= lanes<T>) {
    __builtin_prefetch(out + kAhead);
    vector(std::true_type{}, Front<T>(lanes<T>));
    out += lanes<T> * kItem;
#pragma GCC unroll 4
    for (int k = 0; k < kInputs; ++k) from[k] += step[k];
  }
  if (n == 0) return;
#ifdef __AVX512BW__
  vector(std::false_type{}, Front<T>(n));
#else
  char* rest[1 + kInputs] = {out};
  for (int k = 0; k < kInputs; ++k) rest[k + 1] = const_cast<char*>(from[k]);
  few<T, Stored>(row<F, T, kInputs, kMask, Stored>, kInputs, rest, strides, n, kItem);
#endif
}

template <class F, class... Fs>
constexpr bool is_one_of = (std::is_same_v<F, Fs> || ...);

// Ops whose halves are converted in registers, which saves passes through a block: those that are
// little work or called most; where a machine converts halves by vectors.
template <class F>
constexpr bool converts_in_registers =
    kVectorBytes > 16 &&
    is_one_of<F, neg_op, abs_op, square_op, relu_op, sqrt_op, add_op, sub_op, mul_op, div_op,
              maximum_op, minimum_op, clamp_op, lerp_op, addcmul_op, relu_backward_op,
              leaky_relu_op, leaky_relu_backward_op, exp_op, log_op, rsqrt_op, tanh_op, sigmoid_op,
              silu_op, gelu_op, gelu_tanh_op, tanh_backward_op, sigmoid_backward_op,
              silu_backward_op, gelu_backward_op, gelu_tanh_backward_op>;

template <class F, class T, int kInputs, bool kMask>
void kernel(const Iter& iter) {
  if constexpr (std::is_same_v<T, float> && converts_in_registers<F>) {
    if (is_all(iter, DType::Float16))
      return run(iter, row<F, T, kInputs, kMask, Half>, DType::Float16);
    if (is_all(iter, DType::BFloat16))
      return run(iter, row<F, T, kInputs, kMask, BFloat16>, DType::BFloat16);
  }
  run(iter, row<F, T, kInputs, kMask>);
}

// Integer ops are fast ones only where the baseline has no instruction for them.
template <class F, class Set, class T>
constexpr bool is_fast = Set::template fast<T> || (std::is_same_v<T, int64_t> &&
                                                   is_one_of<F, maximum_op, minimum_op, clamp_op>);

// The table's entry, or nullptr where T is not in the op's set or the kernel is in another file.
template <class F, class Set, class T, int kInputs, bool kMask>
constexpr Kernel entry() {
  if constexpr (!Set::template has<T> || !is_native<T> || !is_here(kInputs, is_fast<F, Set, T>))
    return nullptr;
  else
    return kernel<F, T, kInputs, kMask>;
}

#include "core/elementwise_fill.h"

constexpr ElementwiseTable make_elementwise_table() {
  ElementwiseTable table{};
  fill_of_one(table);
  fill_of_more(table);
  return table;
}

}  // namespace
}  // namespace tt::cpu
