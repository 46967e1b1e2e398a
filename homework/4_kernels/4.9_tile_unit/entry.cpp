// The tile unit, which counts what it does, and what call.py calls of a student's file.
#include <cstdint>
#include <cstring>

static uint32_t tt_words[8][16][16];
static int64_t tt_loads, tt_products;

static float tt_number(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void tile_zero(int t) { std::memset(tt_words[t], 0, sizeof tt_words[t]); }
void tile_load(int t, const void* from, int64_t stride) {
  ++tt_loads;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      std::memcpy(&tt_words[t][i][j], static_cast<const char*>(from) + i * stride + 4 * j, 4);
}
void tile_store(int t, void* to, int64_t stride) {
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      std::memcpy(static_cast<char*>(to) + i * stride + 4 * j, &tt_words[t][i][j], 4);
}
void tile_dot(int c, int a, int b) {
  ++tt_products;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      float sum = tt_number(tt_words[c][i][j]);
      for (int q = 0; q < 16; ++q) {
        const uint32_t x = tt_words[a][i][q], y = tt_words[b][q][j];
        sum += tt_number(x << 16) * tt_number(y << 16);
        sum += tt_number(x & 0xffff0000) * tt_number(y & 0xffff0000);
      }
      std::memcpy(&tt_words[c][i][j], &sum, sizeof sum);
    }
}

#include STUDENT

ENTRY void matmul_entry(const uint16_t* a, const uint16_t* b, float* c, int64_t* done, int64_t m,
                        int64_t k, int64_t n) {
  std::memset(tt_words, 0xff, sizeof tt_words);  // NaN
  tt_loads = tt_products = 0;
  matmul(a, b, c, m, k, n);
  done[0] = tt_loads;
  done[1] = tt_products;
}
