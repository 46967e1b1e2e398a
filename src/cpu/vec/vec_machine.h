// What a vector's operators leave to the compiler's luck: x86's instructions by name, and beside
// them the same in C++. (A loop over lanes becomes one instruction or, where a neighbour takes the
// lanes apart, one per lane.) Built once per instruction set.
#pragma once
#include <type_traits>

#include "cpu/vec/vec_half.h"

namespace tt::cpu {
namespace {

// a b + c rounded once, where the machine has that; else twice.
inline Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__FP_FAST_FMAF)
  for (int i = 0; i < lanes<float>; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
inline Vec<double> fused(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__FP_FAST_FMA)
  for (int i = 0; i < lanes<double>; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}

// a > b ? a : b and a < b ? a : b: a NaN in b stays, one in a is lost. (GCC warns of the forms
// without a mask.)
template <class V>
inline V larger_of(V a, V b) {
#ifdef __AVX512F__
  if constexpr (sizeof a[0] == 4)
    return _mm512_maskz_max_ps(-1, a, b);
  else
    return _mm512_maskz_max_pd(-1, a, b);
#else
  return a > b ? a : b;
#endif
}
template <class V>
inline V smaller_of(V a, V b) {
#ifdef __AVX512F__
  if constexpr (sizeof a[0] == 4)
    return _mm512_maskz_min_ps(-1, a, b);
  else
    return _mm512_maskz_min_pd(-1, a, b);
#else
  return a < b ? a : b;
#endif
}

#ifdef __AVX512F__
// x = 2^n m with m in [sqrt(1/2), sqrt(2)), subnormals too; 0 and inf are 2^-inf and 2^inf, and m
// is NaN of negatives and NaN.
template <class V>
struct Split {
  V n, m;
};
inline Split<Vec<float>> split(Vec<float> x) {
  const Vec<float> n = _mm512_maskz_getexp_ps(-1, x);
  const Vec<float> m = _mm512_maskz_getmant_ps(-1, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
  const auto upper = m > 1.41421354f;
  return {select(upper, n + 1, n), select(upper, 0.5f * m, m)};
}
inline Split<Vec<double>> split(Vec<double> x) {
  const Vec<double> n = _mm512_maskz_getexp_pd(-1, x);
  const Vec<double> m = _mm512_maskz_getmant_pd(-1, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
  const auto upper = m > 1.4142135623730951;
  return {select(upper, n + 1, n), select(upper, 0.5 * m, m)};
}
#endif

// 1 / x, good to 2^-40, for x that is neither 0 nor infinite.
inline Vec<double> reciprocal_of_number(Vec<double> x) {
#ifdef __AVX512F__
  const Vec<double> r = _mm512_maskz_rcp14_pd(-1, x), miss = fused(-x, r, splat(1.0));
  return fused(fused(miss, miss, miss), r, r);
#else
  return 1 / x;
#endif
}

// 1 / sqrt(x) of any x: one step of Newton's from 14 bits, which leaves 0, inf and NaN as they are.
inline Vec<float> rsqrt(Vec<float> x) {
#ifdef __AVX512F__
  const Vec<float> one = splat(1.0f), r = _mm512_maskz_rsqrt14_ps(-1, x), h = x * r;
  const Vec<float> miss = fused(-fused(x, r, -h), r, fused(-h, r, one));  // 1 - x r^2
  const Vec<float> better = fused(fused(miss, splat(0.375f), splat(0.5f)) * miss, r, r);
  return select(better == better, better, r);
#else
  Vec<float> root;
  for (int i = 0; i < lanes<float>; ++i) root[i] = __builtin_sqrtf(x[i]);
  return 1 / root;
#endif
}

// A vector's part of n elements in memory: all its lanes, or the first n where those are fewer; the
// others are `pad`, and are not written. Halves (IfHalf) are floats in the vector; without a pad
// the other lanes are 0.
template <class S>
using IfHalf = std::enable_if_t<is_half_type<S>>;
template <class T>
struct Front {
#ifdef __AVX512BW__
  using Bits = std::conditional_t<sizeof(T) == 1, __mmask64, uint32_t>;
  Bits bits;

  explicit Front(int64_t n)
      : bits(n < lanes<T> ? (Bits{1} << static_cast<int>(n)) - 1 : static_cast<Bits>(-1)) {}

  Vec<T> load(const void* from, T pad = T{}) const {
    const __m512i v = reinterpret_cast<__m512i>(splat(pad));
    if constexpr (sizeof(T) == 1)
      return reinterpret_cast<Vec<T>>(_mm512_mask_loadu_epi8(v, bits, from));
    else if constexpr (sizeof(T) == 2)
      return reinterpret_cast<Vec<T>>(_mm512_mask_loadu_epi16(v, bits, from));
    else if constexpr (sizeof(T) == 4)
      return reinterpret_cast<Vec<T>>(_mm512_mask_loadu_epi32(v, bits, from));
    else
      return reinterpret_cast<Vec<T>>(_mm512_mask_loadu_epi64(v, bits, from));
  }
  template <class S, class = IfHalf<S>>
  Vec<float> load(const S* from) const {
    return floats_of<S>(
        reinterpret_cast<HalfBits>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(bits), from)));
  }
  template <class S, class = IfHalf<S>>
  Vec<float> load(const S* from, float pad) const {
    return _mm512_mask_mov_ps(splat(pad), static_cast<__mmask16>(bits), load(from));
  }
  template <class S, class = IfHalf<S>>
  void store(S* to, Vec<float> x) const {
    _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(bits),
                             reinterpret_cast<__m256i>(rounded_to<S>(x)));
  }
  void store(void* to, Vec<T> x) const {
    const __m512i v = reinterpret_cast<__m512i>(x);
    if constexpr (sizeof(T) == 1)
      _mm512_mask_storeu_epi8(to, bits, v);
    else if constexpr (sizeof(T) == 2)
      _mm512_mask_storeu_epi16(to, bits, v);
    else if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(to, bits, v);
    else
      _mm512_mask_storeu_epi64(to, bits, v);
  }
  // As vec.h's.
  void store_mask(bool* to, Mask<T> mask) const {
    const __m512i v = reinterpret_cast<__m512i>(mask);
    if constexpr (sizeof(T) == 1)
      _mm512_mask_storeu_epi8(to, bits, _mm512_maskz_set1_epi8(_mm512_movepi8_mask(v), 1));
    else if constexpr (sizeof(T) == 2)
      _mm256_mask_storeu_epi8(to, bits, _mm256_maskz_set1_epi8(_mm512_movepi16_mask(v), 1));
    else if constexpr (sizeof(T) == 4)
      _mm_mask_storeu_epi8(to, bits, _mm_maskz_set1_epi8(_mm512_movepi32_mask(v), 1));
    else  // of its 16 lanes only 8 are elements
      _mm_mask_storeu_epi8(to, static_cast<__mmask8>(bits),
                           _mm_maskz_set1_epi8(_mm512_movepi64_mask(v), 1));
  }
#else
  int count;

  explicit Front(int64_t n) : count(static_cast<int>(n < lanes<T> ? n : lanes<T>)) {}

  // memcpy of so few bytes would be a call. (Element stands inside the template, since a type loses
  // its attributes as an argument of one.)
  Vec<T> load(const void* from, T pad = T{}) const {
    typedef T Element __attribute__((aligned(1), may_alias));
    const Element* const elements = static_cast<const Element*>(from);
    Vec<T> v{};
    for (int i = 0; i < lanes<T>; ++i) v[i] = i < count ? elements[i] : pad;
    return v;
  }
  void store(void* to, Vec<T> x) const {
    typedef T Element __attribute__((aligned(1), may_alias));
    Element* const elements = static_cast<Element*>(to);
    for (int i = 0; i < lanes<T>; ++i)
      if (i < count) elements[i] = x[i];
  }
  template <class S, class = IfHalf<S>>
  Vec<float> load(const S* from, float pad = 0) const {
    HalfBits bits{};
    if (count == lanes<T>) {
      __builtin_memcpy(&bits, from, sizeof bits);
      return floats_of<S>(bits);
    }
    for (int i = 0; i < count; ++i) __builtin_memcpy(&bits[i], from + i, sizeof(S));
    Vec<float> x = floats_of<S>(bits);
    for (int i = count; i < lanes<T>; ++i) x[i] = pad;
    return x;
  }
  template <class S, class = IfHalf<S>>
  void store(S* to, Vec<float> x) const {
    const HalfBits bits = rounded_to<S>(x);
    if (count == lanes<T>) {
      __builtin_memcpy(static_cast<void*>(to), &bits, sizeof bits);
      return;
    }
    for (int i = 0; i < count; ++i)
      __builtin_memcpy(static_cast<void*>(to + i), &bits[i], sizeof(S));
  }
#endif
};

template <class T>
inline Vec<T> load_partial(const T* from, int64_t n, T pad = T{}) {
  return Front<T>(n).load(from, pad);
}
template <class T>
inline void store_partial(T* to, Vec<T> v, int64_t n) {
  Front<T>(n).store(to, v);
}

// As Front, of a vector that is all there.
template <class T>
struct Whole {
  Vec<T> load(const T* from, T = T{}) const { return tt::cpu::load(from); }
  void store(T* to, Vec<T> v) const { tt::cpu::store(to, v); }
  template <class S, class = IfHalf<S>>
  Vec<float> load(const S* from, float = 0) const {
    HalfBits bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return floats_of<S>(bits);
  }
  template <class S, class = IfHalf<S>>
  void store(S* to, Vec<float> x) const {
    const HalfBits bits = rounded_to<S>(x);
    __builtin_memcpy(static_cast<void*>(to), &bits, sizeof bits);
  }
};

// f(i, memory) for each vector of elements [begin, end): memory is Whole, or a Front at the end.
template <class T, class F>
inline void for_each_vector(int64_t begin, int64_t end, F f) {
  int64_t i = begin;
  for (; i + lanes<T> <= end; i += lanes<T>) f(i, Whole<T>());
  if (i < end) f(i, Front<T>(end - i));
}

// Halves of the first `count` lanes, or of all where those are fewer, `stride` apart.
template <class S>
inline void store_line(S* to, int64_t stride, Vec<float> x, int64_t count) {
  constexpr int n = lanes<float>;
  if (stride == 1 && count >= n) return Whole<float>().store(to, x);
  if (stride == 1) return Front<float>(count).store(to, x);
  S line[n];
  Whole<float>().store(line, x);
  for (int64_t i = 0; i < n && i < count; ++i) to[i * stride] = line[i];
}

template <class M>
inline bool any(M mask) {
#if defined(__AVX512F__)
  const __m512i bits = reinterpret_cast<__m512i>(mask);
  return (sizeof mask[0] == 8 ? _mm512_movepi64_mask(bits) : _mm512_movepi32_mask(bits)) != 0;
#elif defined(__FMA__)
  return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
#else
  int64_t words[sizeof mask / 8];
  __builtin_memcpy(words, &mask, sizeof mask);
  int64_t seen = 0;
  for (int64_t word : words) seen |= word;
  return seen != 0;
#endif
}

}  // namespace
}  // namespace tt::cpu
