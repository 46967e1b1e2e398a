// Vectors of halves: 16 bits each in memory, floats meanwhile.
#pragma once
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

// Words and their lower halves: GCC takes vectors apart for these.
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
inline HalfBits halves_of(Vec<uint32_t> words) {
#if defined(__AVX512F__)
  return reinterpret_cast<HalfBits>(
      _mm512_maskz_cvtepi32_epi16(-1, reinterpret_cast<__m512i>(words)));
#elif defined(__AVX2__)
  const __m256i v = reinterpret_cast<__m256i>(words);
  return reinterpret_cast<HalfBits>(
      _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(v, v), 0x08)));
#else
  return __builtin_convertvector(words, HalfBits);
#endif
}

// bfloat16, as core/dtypes/half.h converts it.
inline Vec<float> float_of_bfloat(HalfBits bits) { return from_bits(words_of(bits) << 16); }
inline HalfBits bfloat_of_float(Vec<float> x) {
  const Vec<uint32_t> word = as_bits(x), rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
  return halves_of(select(x == x, rounded, splat(0x7fc0u)));
}

// Halves of either kind. On AVX-512 only the lanes that are there, else all.
template <class Stored>
inline Vec<float> load_halves(const void* from, [[maybe_unused]] Front<float> front) {
  HalfBits bits;
#ifdef __AVX512BW__
  bits = reinterpret_cast<HalfBits>(_mm256_maskz_loadu_epi16(front.bits, from));
#else
  __builtin_memcpy(&bits, from, sizeof bits);
#endif
  return std::is_same_v<Stored, Half> ? float_of_half(bits) : float_of_bfloat(bits);
}
template <class Stored>
inline void store_halves(void* to, Vec<float> x, [[maybe_unused]] Front<float> front) {
  const HalfBits bits = std::is_same_v<Stored, Half> ? half_of_float(x) : bfloat_of_float(x);
#ifdef __AVX512BW__
  _mm256_mask_storeu_epi16(to, front.bits, reinterpret_cast<__m256i>(bits));
#else
  __builtin_memcpy(to, &bits, sizeof bits);
#endif
}
// The first `count` of them, or all where those are fewer, `stride` apart.
template <class Stored>
inline void store_line(Stored* to, int64_t stride, Vec<float> x, int64_t count) {
  constexpr int n = lanes<float>;
#ifdef __AVX512BW__
  if (stride == 1) return store_halves<Stored>(to, x, Front<float>(count));
#else
  if (stride == 1 && count >= n) return store_halves<Stored>(to, x, Front<float>(n));
#endif
  Stored line[n];
  store_halves<Stored>(line, x, Front<float>(n));
  for (int64_t i = 0; i < n && i < count; ++i) to[i * stride] = line[i];
}

}  // namespace
}  // namespace tt::cpu
