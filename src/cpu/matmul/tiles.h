// Tiles: registers of 16 rows of 16 words, which some processors multiply (Intel's AMX,
// https://www.intel.com/content/www/us/en/docs/intrinsics-guide, TDPBF16PS). In files built
// for these they are the machine's, else the same in C++: what a tile does can be read here, and
// tried on any machine.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tt::cpu {
namespace {

constexpr int kTile = 16;  // rows, and words of a row
constexpr int kTileSize = kTile * kTile;

#ifdef __AMX_BF16__

// The calling thread's tiles, while this lives. Strides are in bytes.
class Tiles {
 public:
  Tiles() {
    struct {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } shapes;
    for (int i = 0; i < 8; ++i) shapes.row_bytes[i] = 4 * kTile, shapes.rows[i] = kTile;
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;

  template <int Tile>
  void clear() {
    asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
  }
  template <int Tile>
  void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(Tile) : "memory");
  }
  template <int Tile>
  void store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(Tile) : "memory");
  }
  // c[m][n] += the products of the pairs of bfloat16 a[m][k] and b[k][n], summed over k.
  template <int C, int A, int B>
  void add_products() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

#else

class Tiles {
 public:
  template <int Tile>
  void clear() {
    std::memset(words_[Tile], 0, sizeof words_[Tile]);
  }
  template <int Tile>
  void load(const void* from, int64_t stride) {
    for (int m = 0; m < kTile; ++m)
      std::memcpy(words_[Tile][m], static_cast<const char*>(from) + m * stride, 4 * kTile);
  }
  template <int Tile>
  void store(void* to, int64_t stride) {
    for (int m = 0; m < kTile; ++m)
      std::memcpy(static_cast<char*>(to) + m * stride, words_[Tile][m], 4 * kTile);
  }
  // The first products of the pairs are summed by themselves, and so are the second ones.
  template <int C, int A, int B>
  void add_products() {
    for (int m = 0; m < kTile; ++m) {
      for (int n = 0; n < kTile; ++n) {
        float first = 0, second = 0;
        for (int k = 0; k < kTile; ++k) {
          const uint32_t a = words_[A][m][k], b = words_[B][k][n];
          first = normal(std::fma(number(a << 16), number(b << 16), first));
          second = normal(std::fma(number(a & 0xffff0000), number(b & 0xffff0000), second));
        }
        const float sum = normal(number(words_[C][m][n]) + normal(first + second));
        std::memcpy(&words_[C][m][n], &sum, sizeof sum);
      }
    }
  }

 private:
  // Subnormals count as 0.
  static float normal(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
  static float number(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return normal(x);
  }

  uint32_t words_[8][kTile][kTile];
};

#endif

// One operand of a product of tiles: where those of a step begin, the bytes from row to row, and
// from its first tile to the second.
template <class At>
struct TileLines {
  At at;  // (step) -> const void*
  int64_t row, second;
};
template <class At>
TileLines(At, int64_t, int64_t) -> TileLines<At>;

// sums (16 Rows, 16 Cols), `sums_row` apart, = or += the products of the steps. Rows and Cols:
// 1, 2.
template <int Rows, int Cols, class A, class B>
void multiply_tiles(Tiles& tiles, const TileLines<A>& a, const TileLines<B>& b, int64_t steps,
                    float* sums, int64_t sums_row, bool add) {
  constexpr int kWord = 4;  // bytes
  const auto each_sum = [&](const auto& use) {
    use(std::integral_constant<int, 0>(), sums);
    if constexpr (Cols > 1) use(std::integral_constant<int, 1>(), sums + kTile);
    if constexpr (Rows > 1) use(std::integral_constant<int, 2>(), sums + kTile * sums_row);
    if constexpr (Rows > 1 && Cols > 1)
      use(std::integral_constant<int, 3>(), sums + kTile * sums_row + kTile);
  };
  each_sum([&](auto tile, const float* from) {
    add ? tiles.load<tile>(from, sums_row * kWord) : tiles.clear<tile>();
  });
  for (int64_t step = 0; step < steps; ++step) {
    const void *const first_a = a.at(step), *const first_b = b.at(step);
    const auto* const of_a = static_cast<const char*>(first_a);
    const auto* const of_b = static_cast<const char*>(first_b);
    tiles.load<4>(of_a, a.row);
    tiles.load<6>(of_b, b.row);
    tiles.add_products<0, 4, 6>();
    if constexpr (Cols > 1) {
      tiles.load<7>(of_b + b.second, b.row);
      tiles.add_products<1, 4, 7>();
    }
    if constexpr (Rows > 1) {
      tiles.load<5>(of_a + a.second, a.row);
      tiles.add_products<2, 5, 6>();
      if constexpr (Cols > 1) tiles.add_products<3, 5, 7>();
    }
  }
  each_sum([&](auto tile, float* to) { tiles.store<tile>(to, sums_row * kWord); });
}

// As many tiles as there are rows and columns.
template <class A, class B>
void multiply_tiles(Tiles& tiles, const TileLines<A>& a, const TileLines<B>& b, int64_t steps,
                    int64_t rows, int64_t cols, float* sums, int64_t sums_row, bool add) {
  const bool tall = rows > kTile, wide = cols > kTile;
  const auto multiply = tall   ? wide ? multiply_tiles<2, 2, A, B> : multiply_tiles<2, 1, A, B>
                        : wide ? multiply_tiles<1, 2, A, B>
                               : multiply_tiles<1, 1, A, B>;
  multiply(tiles, a, b, steps, sums, sums_row, add);
}

}  // namespace
}  // namespace tt::cpu
