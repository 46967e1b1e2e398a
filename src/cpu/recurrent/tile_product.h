// Products of recurrent layers by tiles: operands are float32, and rounded to bfloat16.
#pragma once
#include "cpu/matmul/gemm_half_tile.h"
#include "cpu/recurrent/product.h"

namespace tt::cpu {
namespace {

// As UnitPanels. A panel is (k / 2, 32 units), the pairs along k; zeros make it whole tiles.
struct TilePanels {
  using Element = float;
  static constexpr int64_t kUnits = 2 * kTile;

  const RecurrentSequence& s;
  int64_t begin, count;
  float* panels;

  static int64_t depth(const RecurrentSequence& s) { return round_up(s.k, 2 * kTile); }
  static int64_t size(const RecurrentSequence& s) { return s.groups * depth(s) / 2 * kUnits; }

  // The rows of a phase's products as halves, whole tiles of them, then sums.
  static int64_t rows_size(const RecurrentSequence& s) {
    int64_t most = 0;
    for (int64_t i = 0; i < s.count; ++i) {
      int64_t rows = 0;
      for (const RecurrentProduct& p : s.phases[i].products) rows += round_up(p.rows, kUnits);
      most = larger(most, rows);
    }
    return round_up(most * depth(s) / 2, kTile);
  }
  static int64_t member_size(const RecurrentSequence& s) {
    return rows_size(s) + kUnits * kUnits + kTile;
  }
  static void prepare(const RecurrentSequence& s, const RecurrentPhase& phase, float* memory) {
    BFloat16* to = reinterpret_cast<BFloat16*>(memory);
    for (const RecurrentProduct& p : phase.products) {
      const float* const a = static_cast<const float*>(p.a);
      for (int64_t row = 0; row < p.rows; ++row) {
        BFloat16* const line = to + row * depth(s);
        for (int64_t i = 0; i < s.k; ++i) line[i] = BFloat16(a[row * s.k + i]);
        for (int64_t i = s.k; i < depth(s); ++i) line[i] = BFloat16();
      }
      to += round_up(p.rows, kUnits) * depth(s);
    }
  }

  void pack() const {
    for (int64_t group = 0; group < s.groups; ++group)
      pack(static_cast<const float*>(s.weight) + (group * s.hidden + begin) * s.weight_col,
           panel(group));
  }

  void multiply(const RecurrentPhase& phase, const float* memory) const {
    Tiles tiles;
    const BFloat16* from = reinterpret_cast<const BFloat16*>(memory);
    float* const sums = const_cast<float*>(memory) + rows_size(s);
    for (const RecurrentProduct& p : phase.products) {
      for (int64_t row = 0; row < p.rows; row += kUnits) {
        const BFloat16* const own = from + row * depth(s);
        const int64_t rows = smaller(kUnits, p.rows - row), line = 2 * depth(s);
        const TileLines a{[=](int64_t q) { return own + q * 2 * kTile; }, line, kTile * line};
        for (int64_t group = 0; group < s.groups; ++group) {
          const uint32_t* const of_group = panel(group);
          const TileLines b{[=](int64_t q) { return of_group + q * kTile * kUnits; }, 4 * kUnits,
                            4 * kTile};
          multiply_tiles(tiles, a, b, depth(s) / (2 * kTile), rows, count, sums, kUnits, false);
          add_sums(p, row, rows, group, sums);
        }
      }
      from += round_up(p.rows, kUnits) * depth(s);
    }
  }

 private:
  uint32_t* panel(int64_t group) const {
    return reinterpret_cast<uint32_t*>(panels) + group * depth(s) / 2 * kUnits;
  }

  // Units of a group from `weight` on.
  void pack(const float* weight, uint32_t* to) const {
    constexpr int n = lanes<float>;
    for (int64_t q = 0; q < depth(s) / 2; q += n / 2) {
      for (int64_t j = 0; j < kUnits; j += n) {
        Vec<float> rows[n];  // along units
        const bool whole = 2 * q + n <= s.k && j + n <= count;
        for (int64_t r = 0; r < n; ++r) {
          if (whole) {
            const float* const from = weight + 2 * q * s.weight_row + j * s.weight_col;
            if (s.weight_col == 1) {
              rows[r] = load(from + r * s.weight_row);
              continue;
            }
            if (s.weight_row == 1) {
              rows[r] = load(from + r * s.weight_col);
              continue;
            }
          }
          rows[r] = Vec<float>{};
          for (int64_t i = 0; i < n && 2 * q + r < s.k && j + i < count; ++i)
            rows[r][i] = element(weight + (2 * q + r) * s.weight_row + (j + i) * s.weight_col);
        }
        if (whole && s.weight_col != 1 && s.weight_row == 1) transpose<float>(rows);
        for (int r = 0; r < n; r += 2)
          store(to + (q + r / 2) * kUnits + j, pairs_of(rows[r], rows[r + 1]));
      }
    }
  }

  // c[row:, units of the group] = or += sums (+ bias).
  void add_sums(const RecurrentProduct& p, int64_t row, int64_t rows, int64_t group,
                const float* sums) const {
    const int64_t column = group * s.hidden + begin, width = s.groups * s.hidden;
    const float* const bias = static_cast<const float*>(s.bias);
    for (int64_t r = 0; r < rows; ++r, sums += kUnits) {
      float* const to = static_cast<float*>(p.c) + (row + r) * width + column;
      for_each_vector<float>(0, count, [&](int64_t i, auto memory) {
        Vec<float> sum = memory.load(sums + i);
        if (s.accumulate) sum += memory.load(to + i);
        if (bias) sum += memory.load(bias + column + i);
        memory.store(to + i, sum);
      });
    }
  }
};

}  // namespace
}  // namespace tt::cpu
