// What tensor cores compute, lane by lane: each passes its fragments on, and takes of all of them
// what its own results need (the layout: cuda/infra/mma.h).
#include "cuda/host/mma.h"

#include "cuda/host/accesses.h"

namespace tt::emulated {

namespace {

struct Fragments {
  unsigned a[4], b[2];
};

// The one or two numbers of a word.
struct Numbers {
  float of[2];
};
Numbers numbers_of(Word word, unsigned bits) {
  if (word == Word::Tf32)
    return {{__uint_as_float(bits & ~0x1fffu), 0}};  // lower bits are not read
  const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits >> 16);
  Half half[2];
  BFloat16 bfloat[2];
  half[0].bits = bfloat[0].bits = low;
  half[1].bits = bfloat[1].bits = high;
  if (word == Word::Halves) return {{half[0], half[1]}};
  return {{bfloat[0], bfloat[1]}};
}

}  // namespace

void mma(Word word, float* d, const unsigned* a, const unsigned* b) {
  const Fragments own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  Fragments all[kWarp];
  exchange("mma.sync", ~0u, &own, sizeof own, all, __builtin_return_address(0));
  ++counts.products;
  const int quad = lane() / 4, in_quad = lane() % 4;
  Numbers rows[2][8], columns[2][8];  // of A and of B, by words
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < 2; ++i) {
      rows[i][k] = numbers_of(word, all[quad * 4 + k % 4].a[i + k / 4 * 2]);
      columns[i][k] = numbers_of(word, all[(in_quad * 2 + i) * 4 + k % 4].b[k / 4]);
    }
  for (int r = 0; r < 4; ++r) {
    float sum = 0;
    for (int k = 0; k < 8; ++k)
      for (int i = 0; i < (word == Word::Tf32 ? 1 : 2); ++i)
        sum += rows[r / 2][k].of[i] * columns[r % 2][k].of[i];
    d[r] += sum;
    counts.sum_of_products += sum;
  }
}

void load_matrices(unsigned* words, const void* row, bool transposed) {
  void* const place = __builtin_return_address(0);
  check(row, 16, Access::Read, place);
  const void* rows[kWarp];
  exchange("ldmatrix", ~0u, &row, sizeof row, rows, place);
  const int quad = lane() / 4, in_quad = lane() % 4;
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint16_t halves[2];
    for (int i = 0; i < 2; ++i) {
      const int of_row = transposed ? in_quad * 2 + i : quad;
      const int column = transposed ? quad : in_quad * 2 + i;
      halves[i] = static_cast<const uint16_t*>(rows[matrix * 8 + of_row])[column];
    }
    words[matrix] = halves[0] | static_cast<unsigned>(halves[1]) << 16;
  }
}

}  // namespace tt::emulated
