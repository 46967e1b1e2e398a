// Panels of halves, and the register tile that multiplies them into float32 sums.
//
// An entry of a panel has 4 bytes: a half as float32 or, where the machine multiplies them, a pair
// of bfloat16 that follow one another along k. Both are moved and transposed alike, so that what
// packs knows no more than how halves become entries. L is lanes<float> throughout.
#pragma once
#include "cpu/matmul/gemm_tile.h"
#include "cpu/vec/vec_half.h"

namespace tt::cpu {
namespace {

using Entries = Vec<uint32_t>;

// A half as float32.
template <class Stored>
struct Widened {
  using Half = Stored;
  static constexpr int kGroup = 1;  // halves of an entry

  static HalfBits bits_at(const Stored* from) {
    HalfBits bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return bits;
  }
  // L entries of L halves along k.
  static Entries along(const Stored* from) {
    const HalfBits bits = bits_at(from);
    return as_bits(std::is_same_v<Stored, tt::Half> ? float_of_half(bits) : float_of_bfloat(bits));
  }
  // An entry of each of L columns; there is but one row.
  static Entries across(const Stored* row, const Stored*) { return along(row); }
  static void add_product(Vec<float>& sum, uint32_t x, Entries y) {
    sum += from_bits(splat(x)) * from_bits(y);
  }
  static bool loses(const uint32_t*, int64_t) { return false; }
};

#ifdef __AVX512BF16__
// A pair: its first half lies in the lower bits. Products of pairs are summed in float32, where
// subnormals count as 0: what they add comes afterwards.
struct Pair {
  using Half = BFloat16;
  static constexpr int kGroup = 2;

  static Entries along(const BFloat16* from) {
    Entries pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    return pairs;
  }
  static Entries across(const BFloat16* row, const BFloat16* next) {
    return words_of(Widened<BFloat16>::bits_at(row)) | words_of(Widened<BFloat16>::bits_at(next))
                                                           << 16;
  }
  static void add_product(Vec<float>& sum, uint32_t x, Entries y) {
    sum = reinterpret_cast<Vec<float>>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                        reinterpret_cast<__m512bh>(splat(x)),
                                                        reinterpret_cast<__m512bh>(y)));
  }
  // Whether a panel has subnormal halves: twice their bits, less 2, are below 0xfe.
  static bool loses(const uint32_t* panel, int64_t count) {
    constexpr int n = lanes<float>;
    const __m512i two = _mm512_set1_epi16(2);
    __m512i least[2] = {_mm512_set1_epi16(-1), _mm512_set1_epi16(-1)};
    const auto see = [&](int chain, int64_t i) {
      const __m512i halves = _mm512_loadu_si512(panel + i);
      const __m512i twice = _mm512_add_epi16(halves, halves);
      least[chain] = _mm512_min_epu16(least[chain], _mm512_sub_epi16(twice, two));
    };
    int64_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
      see(0, i), see(1, i + n);
      see(0, i + 2 * n), see(1, i + 3 * n);
    }
    for (; i < count; i += n) see(0, i);
    const __m512i all = _mm512_min_epu16(least[0], least[1]);
    return _mm512_cmplt_epu16_mask(all, _mm512_set1_epi16(0xfe)) != 0;
  }
  // What the products that have a subnormal factor add to a tile's sums, (rows, vectors * L).
  static void add_subnormals(const uint32_t* a, const uint32_t* b, int64_t entries, int rows,
                             int vectors, float* sums, int64_t sums_row) {
    const __m512i exponent = _mm512_set1_epi32(0x7f800000), digits = _mm512_set1_epi32(0x7fffff);
    const auto has_some = [](__m512i halves) {
      return (_mm512_testn_epi16_mask(halves, _mm512_set1_epi16(0x7f80)) &
              _mm512_test_epi16_mask(halves, _mm512_set1_epi16(0x7f))) != 0;
    };
    for (int64_t q = 0; q < entries; ++q, a += rows, b += vectors * lanes<float>) {
      bool some = has_some(_mm512_maskz_loadu_epi32(__mmask16((1 << rows) - 1), a));
      for (int v = 0; v < vectors; ++v) some |= has_some(_mm512_loadu_si512(b + v * lanes<float>));
      if (!some) continue;
      for (int v = 0; v < vectors; ++v) {
        const Entries pairs = load(b + v * lanes<float>);
        for (const bool upper : {false, true}) {
          const Entries halves = upper ? pairs & 0xffff0000u : pairs << 16;
          const __m512i y = reinterpret_cast<__m512i>(halves);
          const __mmask16 subnormal =
              _mm512_testn_epi32_mask(y, exponent) & _mm512_test_epi32_mask(y, digits);
          for (int r = 0; r < rows; ++r) {
            const uint32_t x = upper ? a[r] & 0xffff0000 : a[r] << 16;
            const bool all = (x & 0x7f800000) == 0 && (x & 0x7fffffff) != 0;
            if (!all && !subnormal) continue;
            float* const to = sums + r * sums_row + v * lanes<float>;
            const __mmask16 taken = all ? 0xffff : subnormal;
            _mm512_storeu_ps(
                to, _mm512_mask3_fmadd_ps(_mm512_set1_ps(float_of(x)), _mm512_castsi512_ps(y),
                                          _mm512_loadu_ps(to), taken));
          }
        }
      }
    }
  }
};
#endif

// `from` if L halves may be read there, else a copy of `count` of them with zeros behind.
template <class Stored, int Size>
const Stored* whole_line(const Stored* from, int64_t stride, int64_t count, Stored (&copy)[Size]) {
  if (stride == 1 && count >= Size) return from;
  for (int64_t i = 0; i < Size; ++i) copy[i] = i < count ? element(from + i * stride) : Stored();
  return copy;
}

// Packs source[p * along + j * across], p < depth, j < Width, as entries (depth / kGroup, Width),
// the last with a zero where depth is odd. Of the columns only `used` exist; the others hold
// anything, and so may 2 L entries behind the panel.
template <class Entry, int Width>
void pack_halves(uint32_t* panel, const typename Entry::Half* source, int64_t along, int64_t across,
                 int64_t depth, int64_t used) {
  using Stored = typename Entry::Half;
  constexpr int n = lanes<float>, group = Entry::kGroup;
  const int64_t entries = blocks(depth, group);
  // Groups of L columns, the last first: what it writes too much, the next overwrites.
  for (int first = (Width - 1) / n * n; first >= 0; first -= n) {
    uint32_t* const to = panel + first;
    const Stored* const from = source + first * across;
    const int64_t count = smaller(n, used - first);
    if (count <= 0) {
      for (int64_t q = 0; q < entries; ++q) store(to + q * Width, Entries{});
    } else if (across == 1) {
      static const Stored zeros[n] = {};
      for (int64_t q = 0; q < entries; ++q) {
        Stored copy[n], next_copy[n];
        const Stored *row = from + q * group * along, *next = zeros;
        if (group == 2 && q * group + 1 < depth)
          next = whole_line(row + along, 1, used - first, next_copy);
        row = whole_line(row, 1, used - first, copy);
        store(to + q * Width, Entry::across(row, next));
      }
    } else {
      for (int64_t q = 0; q < entries; q += n) {
        const int64_t left = depth - q * group;
        Entries block[n];
        if (along == 1 && left >= n * group) {
#pragma GCC unroll 16
          for (int j = 0; j < n; ++j)
            block[j] = Entry::along(from + q * group + (j < count ? j : 0) * across);
        } else {
          for (int j = 0; j < n; ++j) {
            Stored copy[n * group];
            const Stored* const line = from + q * group * along + (j < count ? j : 0) * across;
            block[j] = Entry::along(whole_line(line, along, left, copy));
          }
        }
        transpose<uint32_t>(block);
        if (entries - q >= n) {
#pragma GCC unroll 16
          for (int r = 0; r < n; ++r) store(to + (q + r) * Width, block[r]);
        } else {
          for (int r = 0; r < entries - q; ++r) store(to + (q + r) * Width, block[r]);
        }
      }
    }
  }
}

// sums (Rows, Vectors * L) = panel a (entries, Rows)^T @ panel b (entries, Vectors * L).
template <class Entry, int Rows, int Vectors>
void multiply_panels(const uint32_t* a, const uint32_t* b, int64_t entries, float* sums,
                     int64_t sums_row, bool add) {
  constexpr int n = lanes<float>;
  Vec<float> sum[Rows][Vectors] = {};
#pragma GCC unroll 4
  for (int64_t q = 0; q < entries; ++q) {
    Entries y[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) y[v] = load(b + v * n);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) Entry::add_product(sum[r][v], a[r], y[v]);
    }
    a += Rows;
    b += Vectors * n;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      float* const to = sums + r * sums_row + v * n;
      store(to, add ? load(to) + sum[r][v] : sum[r][v]);
    }
  }
}

}  // namespace
}  // namespace tt::cpu
