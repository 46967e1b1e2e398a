// Halves: 16 bits each in memory, floats in a vector. (Front and Whole of vec_machine.h load and
// store them.)
#pragma once
#include <type_traits>

#include "core/dtypes/dtype.h"
#include "cpu/vec/vec.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace tt::cpu {
namespace {

// What elements of S are computed in.
template <class S>
using Computed = std::conditional_t<is_half_type<S>, float, S>;

// float16, a half vector of its bits, and float.
using HalfBits = VecOf<uint16_t, kVectorBytes / 2>::type;

inline Vec<float> float_of_half(HalfBits bits) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(-1, reinterpret_cast<__m256i>(bits));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(bits));
#else
  Vec<float> r{};
  for (int i = 0; i < lanes<float>; ++i) {
    Half half;
    half.bits = bits[i];
    r[i] = half;
  }
  return r;
#endif
}

inline HalfBits half_of_float(Vec<float> x) {
#if defined(__AVX512F__)
  return reinterpret_cast<HalfBits>(_mm512_maskz_cvtps_ph(-1, x, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  return reinterpret_cast<HalfBits>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#else
  HalfBits r;
  for (int i = 0; i < lanes<float>; ++i) r[i] = Half(x[i]).bits;
  return r;
#endif
}

// GCC takes vectors apart for this.
inline Vec<uint32_t> words_of(HalfBits halves) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<uint32_t>>(
      _mm512_maskz_cvtepu16_epi32(-1, reinterpret_cast<__m256i>(halves)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<uint32_t>>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)));
#else
  return __builtin_convertvector(halves, Vec<uint32_t>);
#endif
}

// bfloat16, the upper half of a float's word, as core/dtypes/half.h converts it: ties go to even,
// and a NaN is 0x7fc0. The lower half of a rounded word is anything.
inline Vec<float> float_of_bfloat(HalfBits bits) { return from_bits(words_of(bits) << 16); }
inline Vec<uint32_t> rounded_words(Vec<float> x) {
#ifdef __AVX512F__
  // A NaN (kinds 0 and 1 of the table) is taken from the first operand, else x.
  const __m512i nan = _mm512_set1_epi32(0x7fc00000), kinds = _mm512_set1_epi32(0x11111100);
  const __m512i word =
      _mm512_castps_si512(_mm512_fixupimm_ps(_mm512_castsi512_ps(nan), x, kinds, 0));
  const __m512i up = _mm512_add_epi32(word, _mm512_set1_epi32(0x7fff));
  const __mmask16 odd = _mm512_test_epi32_mask(word, _mm512_set1_epi32(0x10000));
  return reinterpret_cast<Vec<uint32_t>>(_mm512_mask_add_epi32(up, odd, up, _mm512_set1_epi32(1)));
#else
  const Vec<uint32_t> word = as_bits(x);
  return select(x == x, word + 0x7fff + (word >> 16 & 1), splat(0x7fc00000u));
#endif
}
#ifdef __AVX512BF16__
// Whether one is a NaN or subnormal: the processor's conversion keeps NaNs, and takes subnormals
// for 0.
inline __mmask16 specials(Vec<float> x) { return _mm512_fpclass_ps_mask(x, 0xa1); }
inline bool are_special(Vec<float> x, Vec<float> y) {
  return !_kortestz_mask16_u8(specials(x), specials(y));
}
#endif
inline HalfBits bfloat_of_float(Vec<float> x) {
#ifdef __AVX512BF16__
  if (__builtin_expect(specials(x) == 0, 1))
    return reinterpret_cast<HalfBits>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
#endif
  const Vec<uint32_t> words = rounded_words(x);
#if defined(__AVX512BW__)
  // The upper halves: 1, 3, 5, ...
  const __m512i upper = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0x1f001d, 0x1b0019, 0x170015,
                                         0x130011, 0xf000d, 0xb0009, 0x70005, 0x30001);
  return reinterpret_cast<HalfBits>(_mm512_maskz_extracti64x4_epi64(
      -1, _mm512_maskz_permutexvar_epi16(-1, upper, reinterpret_cast<__m512i>(words)), 0));
#elif defined(__AVX2__)
  const __m256i v = reinterpret_cast<__m256i>(words >> 16);
  return reinterpret_cast<HalfBits>(
      _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(v, v), 0x08)));
#else
  return __builtin_convertvector(words >> 16, HalfBits);
#endif
}
// Two vectors of bfloat16, one behind the other.
using Bfloats = VecOf<uint16_t, kVectorBytes>::type;
inline Bfloats bfloats_of(Vec<float> first, Vec<float> second) {
#ifdef __AVX512BF16__
  if (__builtin_expect(!are_special(first, second), 1))
    return reinterpret_cast<Bfloats>(_mm512_cvtne2ps_pbh(second, first));
#endif
#if defined(__AVX512BW__)
  // The upper halves: 1, 3, 5, ...
  const __m512i upper = _mm512_set_epi32(0x3f003d, 0x3b0039, 0x370035, 0x330031, 0x2f002d, 0x2b0029,
                                         0x270025, 0x230021, 0x1f001d, 0x1b0019, 0x170015, 0x130011,
                                         0xf000d, 0xb0009, 0x70005, 0x30001);
  return reinterpret_cast<Bfloats>(
      _mm512_permutex2var_epi16(reinterpret_cast<__m512i>(rounded_words(first)), upper,
                                reinterpret_cast<__m512i>(rounded_words(second))));
#elif defined(__AVX2__)
  const Vec<uint32_t> low = rounded_words(first) >> 16, high = rounded_words(second) >> 16;
  return reinterpret_cast<Bfloats>(_mm256_permute4x64_epi64(
      _mm256_packus_epi32(reinterpret_cast<__m256i>(low), reinterpret_cast<__m256i>(high)), 0xd8));
#else
  const HalfBits halves[2] = {bfloat_of_float(first), bfloat_of_float(second)};
  Bfloats both;
  __builtin_memcpy(&both, halves, sizeof both);
  return both;
#endif
}
// Pairs of bfloat16, the first in the lower half of a word.
inline Vec<uint32_t> pairs_of(Vec<float> low, Vec<float> high) {
#ifdef __AVX512BF16__
  if (__builtin_expect(!are_special(low, high), 1)) {
    // 0, 16, 1, 17, ...
    const __m512i order = _mm512_set_epi32(
        0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008, 0x170007,
        0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    return reinterpret_cast<Vec<uint32_t>>(_mm512_maskz_permutexvar_epi16(
        -1, order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low))));
  }
#endif
  return rounded_words(low) >> 16 | (rounded_words(high) & 0xffff0000);
}

template <class S>
inline Vec<float> floats_of(HalfBits bits) {
  return std::is_same_v<S, Half> ? float_of_half(bits) : float_of_bfloat(bits);
}
template <class S>
inline HalfBits rounded_to(Vec<float> x) {
  return std::is_same_v<S, Half> ? half_of_float(x) : bfloat_of_float(x);
}

}  // namespace
}  // namespace tt::cpu
