// Tiles: registers of 16 rows of 16 words, which some processors multiply (Intel's AMX,
// https://www.intel.com/content/www/us/en/docs/intrinsics-guide, TDPBF16PS). In files built
// for these they are the machine's, else the same in C++: what a tile does can be read here, and
// tried on any machine.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

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

}  // namespace
}  // namespace tt::cpu
