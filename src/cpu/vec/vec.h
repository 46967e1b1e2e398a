// Vectors of TT_VECTOR_BYTES bytes (16, 32 or 64), as GCC and Clang spell them on every machine.
//
// Only for the files that are built once per instruction set: everything stands in an anonymous
// namespace, so that no symbol of one build can be linked into another. Those files are built with
// -ffp-contract=off -fno-math-errno -fno-trapping-math (none of these changes a value; without the
// last two, sqrt and floor stay scalar). Arithmetic, comparisons and shifts are the compiler's
// own operators on vectors; a scalar operand is spread over the lanes.
//
// Not here: what takes an instruction by its name, as tails do (vec_machine.h).
#pragma once
#include <cstdint>

namespace tt::cpu {
namespace {

constexpr int kVectorBytes = TT_VECTOR_BYTES;

template <class T, int bytes = kVectorBytes>
struct VecOf {
  typedef T type __attribute__((vector_size(bytes)));
};
// A bool is a byte that holds 0 or 1; there are no vectors of bool.
template <>
struct VecOf<bool> : VecOf<uint8_t> {};

template <class T>
using Vec = typename VecOf<T>::type;

template <class T>
constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));

// What a comparison of two Vec<T> answers: signed integers of T's size, -1 for true, 0 for false.
template <class T>
using Mask = decltype(Vec<T>{} < Vec<T>{});

// ---------------------------------------------------------------------------- loads and stores
// User memory has no alignment beyond the element's, if that: memcpy compiles to one unaligned
// move and may alias anything.

template <class T>
inline Vec<T> load(const T* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
inline void store(T* to, Vec<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

// x in every lane of V. (x may be a V, and V the type of one element.) Adding x to V{} would turn
// -0 into +0; subtracting +0 keeps every x, and compiles to a broadcast.
template <class V, class T>
inline V broadcast(T x) {
  return x - V{};
}
template <class T>
inline Vec<T> splat(T x) {
  return broadcast<Vec<T>>(x);
}
template <>
inline Vec<bool> splat<bool>(bool x) {
  return splat<uint8_t>(x);
}

// ------------------------------------------------------------------------------------- masks

// Lane by lane `mask ? yes : no`; both sides have been computed.
template <class M, class V>
inline V select(M mask, V yes, V no) {
  return mask ? yes : no;
}

// One byte per lane of Mask<T>, 0 or 1: lanes<T> bytes of a bool array.
template <class T>
inline void store_mask(bool* to, Mask<T> mask) {
  constexpr int n = lanes<T>;
  using Packed = typename VecOf<int8_t, n>::type;
  Packed bytes;
  if constexpr (kVectorBytes == 64 || sizeof(T) == 1) {
    bytes = __builtin_convertvector(mask, Packed);  // AVX-512 has an instruction for this
  } else {
    Vec<int8_t> first{};  // the lowest byte of each lane is moved to the front
    for (int i = 0; i < n; ++i) first[i] = static_cast<int8_t>(i * static_cast<int>(sizeof(T)));
    const Vec<int8_t> front = __builtin_shuffle(reinterpret_cast<Vec<int8_t>>(mask), first);
    __builtin_memcpy(&bytes, &front, sizeof bytes);
  }
  bytes &= 1;
  __builtin_memcpy(to, &bytes, sizeof bytes);
}

// ----------------------------------------------------------------- bits and other element types

// Unsigned, because arithmetic on bits may wrap.
inline Vec<uint32_t> as_bits(Vec<float> x) { return reinterpret_cast<Vec<uint32_t>>(x); }
inline Vec<uint64_t> as_bits(Vec<double> x) { return reinterpret_cast<Vec<uint64_t>>(x); }
inline Vec<float> from_bits(Vec<uint32_t> x) { return reinterpret_cast<Vec<float>>(x); }
inline Vec<double> from_bits(Vec<uint64_t> x) { return reinterpret_cast<Vec<double>>(x); }

// Values, between types of one size: float and int32, double and int64. To integers it truncates.
template <class To, class V>
inline Vec<To> convert(V x) {
  static_assert(sizeof(x[0]) == sizeof(To), "widen and narrow change the size");
  return __builtin_convertvector(x, Vec<To>);
}

// A Vec<float> as doubles: the lower half of its lanes and the upper.
struct Wide {
  Vec<double> lo, hi;
};

// Both go through a vector of twice the width, which GCC lowers to one conversion per half.
using WideVec = VecOf<double, 2 * kVectorBytes>::type;

inline Wide widen(Vec<float> x) {
  const WideVec both = __builtin_convertvector(x, WideVec);
  Wide w;
  __builtin_memcpy(&w, &both, sizeof w);
  return w;
}

inline Vec<float> narrow(Wide w) {
  WideVec both;
  __builtin_memcpy(&both, &w, sizeof both);
  return __builtin_convertvector(both, Vec<float>);
}

// ------------------------------------------------------------------------------- scalar functions

// f of each lane, for what makes no speed claim.
template <class V, class F>
inline V map_lanes(V x, F f) {
  V r;
  for (unsigned i = 0; i < sizeof x / sizeof x[0]; ++i) r[i] = f(x[i]);
  return r;
}

template <class V, class F>
inline V map_lanes(V x, V y, F f) {
  V r;
  for (unsigned i = 0; i < sizeof x / sizeof x[0]; ++i) r[i] = f(x[i], y[i]);
  return r;
}

// f of each lane of the arguments where mask holds, `rest` in the other lanes. For rare lanes, so
// it is kept small and out of the way.
template <class M, class V, class F, class... Vs>
__attribute__((noinline, cold)) V map_lanes_where(M mask, V rest, F f, Vs... arguments) {
#pragma GCC unroll 1
  for (unsigned i = 0; i < sizeof rest / sizeof rest[0]; ++i) {
    if (mask[i]) rest[i] = f(arguments[i]...);
  }
  return rest;
}

}  // namespace
}  // namespace tt::cpu
