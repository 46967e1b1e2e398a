// Convolutions of bfloat16 by dot products of pairs, with sums in float32: conv.cpp and weight.cpp
// on pairs in the place of floats. Built for instruction sets that have such products.
#define TT_PAIRS
#include "core/tables/conv.h"
#include "cpu/conv/sum_parts.h"
#include "cpu/conv/weight.h"
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

void pair_sum(const ConvSum& g) {
  const int workers = workers_for(g);
  for (int64_t i = 0; i < g.part_count; i += kPartsAtOnce) {
    sum_parts<float>(g, g.parts + i, int(smaller(kPartsAtOnce, g.part_count - i)), workers);
  }
}

// to[i] = low[i], and high[i] above it, for elements [begin, end); high may be null.
void interleave_rows(uint32_t* to, const uint16_t* low, const uint16_t* high, int64_t begin,
                     int64_t end) {
  for_each_vector<uint32_t>(begin, end, [&](int64_t i, auto memory) {
    const Front<float> front(end - i);
    const auto words = [&](const uint16_t* from) {
      return words_of(reinterpret_cast<HalfBits>(_mm256_maskz_loadu_epi16(front.bits, from + i)));
    };
    Vec<uint32_t> pairs = words(low);
    if (high) pairs |= words(high) << 16;
    memory.store(to + i, pairs);
  });
}

void interleave(uint32_t* to, const void* x, int64_t outer, int64_t size, int64_t inner) {
  const char* const from = static_cast<const char*>(x);
  const int64_t pairs = blocks(size, 2), rows = outer * pairs;
  if (inner == 1 && size % 2 == 0) {
    parallel_for(rows, kGrain, [&](int64_t begin, int64_t end) {
      __builtin_memcpy(to + begin, from + 4 * begin, static_cast<size_t>(end - begin) * 4);
    });
    return;
  }
  parallel_for(rows * inner, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / inner, first = at % inner;
      const int64_t last = smaller(inner, first + end - at), of_x = row % pairs * 2;
      const auto* low =
          reinterpret_cast<const uint16_t*>(from + 2 * (row / pairs * size + of_x) * inner);
      interleave_rows(to + row * inner, low, of_x + 1 < size ? low + inner : nullptr, first, last);
      at += last - first;
    }
  });
}

}  // namespace

namespace TT_ISA {
extern const ConvPairs conv_pairs = {pair_sum, sum_weight<float>, interleave};
}

}  // namespace tt::cpu
