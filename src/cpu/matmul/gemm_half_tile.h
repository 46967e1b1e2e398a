// Panels of halves, and the register tile that multiplies them into float32 sums.
//
// An entry of a panel has 4 bytes: a half as float32 or, where the machine multiplies them, a pair
// of bfloat16 that follow one another along k. Both are moved and transposed alike, so that what
// packs knows no more than how halves become entries. L is lanes<float> throughout.
#pragma once
#include "cpu/matmul/gemm_tile.h"
#include "cpu/matmul/tiles.h"

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
  static Entries along(const Stored* from) { return as_bits(cpu::Whole<float>().load(from)); }
  // An entry of each of L columns; there is but one row.
  static Entries across(const Stored* row, const Stored*) { return along(row); }
  static void add_product(Vec<float>& sum, uint32_t x, Entries y) {
    sum += from_bits(splat(x)) * from_bits(y);
  }
  static bool loses(const uint32_t*, int64_t) { return false; }
};

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
#ifdef __AVX512BF16__
  static void add_product(Vec<float>& sum, uint32_t x, Entries y) {
    sum = reinterpret_cast<Vec<float>>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                        reinterpret_cast<__m512bh>(splat(x)),
                                                        reinterpret_cast<__m512bh>(y)));
  }
#endif
  // Whether a half of these is subnormal: twice its bits, less 2, are below 0xfe.
  static bool loses(const uint32_t* pairs, int64_t count) {
    int64_t i = 0;
#ifdef __AVX512BW__
    constexpr int n = lanes<float>;
    const __m512i two = _mm512_set1_epi16(2);
    __m512i least[2] = {_mm512_set1_epi16(-1), _mm512_set1_epi16(-1)};
    const auto see = [&](int chain, int64_t at) {
      const __m512i halves = _mm512_loadu_si512(pairs + at);
      const __m512i twice = _mm512_add_epi16(halves, halves);
      least[chain] = _mm512_min_epu16(least[chain], _mm512_sub_epi16(twice, two));
    };
    for (; i + 2 * n <= count; i += 2 * n) see(0, i), see(1, i + n);
    const __m512i all = _mm512_min_epu16(least[0], least[1]);
    if (_mm512_cmplt_epu16_mask(all, _mm512_set1_epi16(0xfe)) != 0) return true;
#endif
    for (; i < count; ++i)
      if (is_subnormal(pairs[i] << 16) || is_subnormal(pairs[i] & 0xffff0000)) return true;
    return false;
  }
  // What the products that have a subnormal factor add to sums (rows, cols) of a_of(row, entry) and
  // the panel b (entries, cols).
  template <class Of>
  static void add_subnormals(const Of& a_of, const uint32_t* b, int64_t entries, int rows, int cols,
                             float* sums, int64_t sums_row) {
    for (int64_t q = 0; q < entries; ++q, b += cols) {
      const bool some = loses(b, cols);
      for (int r = 0; r < rows; ++r) {
        const uint32_t pair = a_of(r, q);
        if (!some && !loses(&pair, 1)) continue;
        float* const to = sums + r * sums_row;
        for (const int shift : {16, 0}) {
          const uint32_t x = pair << shift & 0xffff0000;
          for (int c = 0; c < cols; ++c) {
            const uint32_t y = b[c] << shift & 0xffff0000;
            if (is_subnormal(x) || is_subnormal(y)) to[c] += float_of(x) * float_of(y);
          }
        }
      }
    }
  }

 private:
  static bool is_subnormal(uint32_t bits) {
    return (bits & 0x7f800000) == 0 && (bits & 0x7fffffff) != 0;
  }
};

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

// Where a tile of C goes: as float sums or, if its last products are among them and it is whole, as
// halves, rounded in registers.
template <class Half>
struct TileOut {
  float* sums;
  int64_t sums_row;
  bool add;           // to what stands in sums
  Half* c = nullptr;  // null: into sums
  int64_t c_row = 0;
  const Half* bias = nullptr;  // by columns, which are next to each other
};

// out (Rows, Vectors * L) = panel a (entries, Rows)^T @ panel b (entries, Vectors * L).
template <class Entry, int Rows, int Vectors>
void multiply_panels(const uint32_t* a, const uint32_t* b, int64_t entries,
                     const TileOut<typename Entry::Half>& out) {
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
  const auto each = [&](const auto& use) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) use(sum[r][v], r, v * n);
    }
  };
  const auto sums_at = [&](int r, int j) { return out.sums + r * out.sums_row + j; };
  if (out.add) each([&](Vec<float>& x, int r, int j) { x = load(sums_at(r, j)) + x; });
  if (!out.c) return each([&](Vec<float> x, int r, int j) { store(sums_at(r, j), x); });
  const Whole<float> whole;
  if (out.bias) each([&](Vec<float>& x, int, int j) { x += whole.load(out.bias + j); });
  each([&](Vec<float> x, int r, int j) { whole.store(out.c + r * out.c_row + j, x); });
}

// ---- How panels are packed and multiplied: by vectors, or by tiles. -----------------------------

// A panel of A is (entries, height), one of B (entries, width).
template <class E>
struct ByVectors {
  using Entry = E;
  using Half = typename Entry::Half;
  static constexpr int kHeight = kRows, kWidth = cpu::kCols<float>;
  static constexpr int kMostRows = 240;  // of a part
  static constexpr int kMostDepth = 256 * Entry::kGroup;
  static constexpr int kCols = kWidth;  // whose panels are packed at once

  static int64_t entries(int64_t depth) { return blocks(depth, Entry::kGroup); }
  // As many columns, or rows, as a part's last ones need.
  static int width(int64_t cols) { return cols > kWidth / 2 ? kWidth : kWidth / 2; }
  static int height(int64_t rows) {
    return rows > kRows * 2 / 3 ? kRows : rows > kRows / 3 ? kRows * 2 / 3 : kRows / 3;
  }
  static void pack_a(uint32_t* panel, const Half* source, int64_t along, int64_t across,
                     int64_t depth, int64_t used, int height) {
    const auto pack = height == kRows           ? pack_halves<Entry, kRows>
                      : height == kRows * 2 / 3 ? pack_halves<Entry, kRows * 2 / 3>
                                                : pack_halves<Entry, kRows / 3>;
    pack(panel, source, along, across, depth, used);
  }
  // Panels of `cols` columns, of which and of those behind them `used` exist.
  static void pack_b(uint32_t* panel, const Half* source, int64_t along, int64_t across,
                     int64_t depth, int64_t cols, int64_t used) {
    const auto pack =
        width(cols) == kWidth ? pack_halves<Entry, kWidth> : pack_halves<Entry, kWidth / 2>;
    pack(panel, source, along, across, depth, used);
  }
  // Where the entry q of row r is in a panel of A.
  static int64_t place(int r, int64_t q, int height) { return q * height + r; }

  static constexpr bool kRounds = true;  // whether `multiply` can answer halves
  void multiply(const uint32_t* a, const uint32_t* b, int64_t entries, int height, int width,
                const TileOut<Half>& out) {
    const auto of = width == kWidth ? tile_of<2>(height) : tile_of<1>(height);
    of(a, b, entries, out);
  }

 private:
  template <int Vectors>
  static auto tile_of(int height) {
    return height == kRows           ? multiply_panels<Entry, kRows, Vectors>
           : height == kRows * 2 / 3 ? multiply_panels<Entry, kRows * 2 / 3, Vectors>
                                     : multiply_panels<Entry, kRows / 3, Vectors>;
  }
};

// Two tiles of A meet two of B in four of sums. A panel of A is (entries / 16, height / 16) tiles,
// one of B (entries, width); there are whole tiles of entries, the last of them zeros.
struct ByTiles {
  using Entry = Pair;
  using Half = BFloat16;
  static constexpr int kHeight = 2 * kTile, kWidth = 2 * kTile, kMostRows = 256, kCols = 512;
  static constexpr int kMostDepth = 512;

  static int64_t entries(int64_t depth) { return round_up(blocks(depth, 2), kTile); }
  static int width(int64_t cols) { return cols > kTile ? kWidth : kTile; }
  static int height(int64_t rows) { return rows > kTile ? kHeight : kTile; }
  static void pack_a(uint32_t* panel, const BFloat16* source, int64_t along, int64_t across,
                     int64_t depth, int64_t used, int height) {
    for (int64_t p = 0; p < depth; p += 2 * kTile) {
      for (int first = 0; first < height; first += kTile, panel += kTileSize)
        pack_tile(panel, source + p * along + first * across, along, across, depth - p,
                  used - first);
    }
  }
  // Rows of B are read in long runs.
  static void pack_b(uint32_t* panels, const BFloat16* source, int64_t along, int64_t across,
                     int64_t depth, int64_t cols, int64_t used) {
    const int64_t some = blocks(depth, 2), all = entries(depth);  // but for zeros; with them
    const int64_t whole = across == 1 && depth % 2 == 0 ? smaller(cols, used) / kWidth * kWidth : 0;
    for (int64_t q = 0; q < some && whole > 0; ++q) {
      const BFloat16* const row = source + 2 * q * along;
      for (int64_t j = 0; j < whole; j += kWidth)
        interleave(panels + j * all + q * kWidth, row + j, row + along + j);
    }
    for (int64_t j = 0; j < cols; j += kWidth) {
      const int wide = width(cols - j);
      uint32_t* const panel = panels + j * all;
      const auto pack = wide == kWidth ? pack_halves<Pair, kWidth> : pack_halves<Pair, kTile>;
      if (j >= whole) pack(panel, source + j * across, along, across, depth, used - j);
      std::memset(panel + some * wide, 0, static_cast<size_t>((all - some) * wide) * 4);
    }
  }
  static int64_t place(int r, int64_t q, int height) {
    return (q / kTile * (height / kTile) + r / kTile) * kTileSize + r % kTile * kTile + q % kTile;
  }

  static constexpr bool kRounds = false;
  void multiply(const uint32_t* a, const uint32_t* b, int64_t entries, int height, int width,
                const TileOut<Half>& out) {
    float* sums = out.sums;
    const int64_t sums_row = out.sums_row;
    const TileLines of_a{[=](int64_t q) { return a + q * height * kTile; }, 4 * kTile,
                         4 * kTileSize};
    const TileLines of_b{[=](int64_t q) { return b + q * kTile * width; }, 4 * width, 4 * kTile};
    if (!out.add)
      return multiply_tiles(tiles_, of_a, of_b, entries / kTile, height, width, sums, sums_row,
                            false);
    // As where blocks of k are tasks of their own: their sums are added, not gone on with.
    alignas(64) float block[kHeight * kWidth];
    multiply_tiles(tiles_, of_a, of_b, entries / kTile, height, width, block, kWidth, false);
    for (int r = 0; r < height; ++r, sums += sums_row) {
      for (int c = 0; c < width; c += lanes<float>)
        store(sums + c, load(sums + c) + load(block + r * kWidth + c));
    }
  }

 private:
  // The pairs (low[i], high[i]), i < kWidth.
  static void interleave(uint32_t* to, const BFloat16* low, const BFloat16* high) {
#ifdef __AVX512BW__
    const __m512i count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    // Of one row i, and of the other what stands 32 behind it.
    const __m512i first = _mm512_or_si512(
        count, _mm512_slli_epi32(_mm512_add_epi32(count, _mm512_set1_epi32(32)), 16));
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    const __m512i a = _mm512_loadu_si512(low), b = _mm512_loadu_si512(high);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, first, b));
    _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi16(a, second, b));
#else
    for (int i = 0; i < kWidth; ++i)
      to[i] = element(low + i).bits | static_cast<uint32_t>(element(high + i).bits) << 16;
#endif
  }

  // to[r][q] = the pair (2 q, 2 q + 1) of row r.
  static void pack_tile(uint32_t* to, const BFloat16* from, int64_t along, int64_t across,
                        int64_t depth, int64_t used) {
    constexpr int n = lanes<float>;
    BFloat16 copy[kTile][2 * kTile];
    if (depth < 2 * kTile || used < kTile || (along != 1 && across != 1)) {
      for (int r = 0; r < kTile; ++r)
        for (int p = 0; p < 2 * kTile; ++p)
          copy[r][p] = r < used && p < depth ? element(from + r * across + p * along) : BFloat16();
      from = copy[0], along = 1, across = 2 * kTile;
    }
    if (along == 1) {
      for (int r = 0; r < kTile; ++r) std::memcpy(to + r * kTile, from + r * across, 4 * kTile);
      return;
    }
    for (int first = 0; first < kTile; first += n) {
      for (int q = 0; q < kTile; q += n) {
        Entries block[n];
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) {
          const BFloat16* const row = from + 2 * (q + j) * along + first;
          block[j] = Pair::across(row, row + along);
        }
        transpose<uint32_t>(block);
#pragma GCC unroll 16
        for (int r = 0; r < n; ++r) store(to + (first + r) * kTile + q, block[r]);
      }
    }
  }

  Tiles tiles_;
};

}  // namespace
}  // namespace tt::cpu
