// Attention of bfloat16 by products of pairs: by tiles (matmul/tiles.h) or by vectors, built for
// each instruction set that has them.
//
// As attention.cpp, but that probabilities p and the gradients ds of scores are rounded to bfloat16
// before they are multiplied. Queries are columns again: rows of scores^T, two at a time, are the
// pairs along k of a panel of B, and one by one those of a panel of A. Subnormals count as 0.
#include "cpu/attention/heads.h"
#include "cpu/matmul/gemm_half_tile.h"

namespace tt::cpu {
namespace {

#ifdef __AVX512BF16__
// Panels as of tiles, which vectors multiply.
struct ByPairs : ByTiles {
  static void multiply(const uint32_t* a, const uint32_t* b, int64_t entries, int, int,
                       const TileOut<BFloat16>& out) {
    multiply_rows<0, 12>(a, b, entries, out);
    multiply_rows<12, 12>(a, b, entries, out);
    multiply_rows<24, 8>(a, b, entries, out);
  }

 private:
  template <int First, int Rows>
  static void multiply_rows(const uint32_t* a, const uint32_t* b, int64_t entries,
                            const TileOut<BFloat16>& out) {
    constexpr int n = lanes<float>;
    Vec<float> sum[Rows][2] = {};
    for (int64_t step = 0; step < entries; step += kTile, a += kHeight * kTile) {
#pragma GCC unroll 4
      for (int q = 0; q < kTile; ++q, b += kWidth) {
        const Entries y[2] = {load(b), load(b + n)};
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < 2; ++v)
            Pair::add_product(sum[r][v], a[(First + r) * kTile + q], y[v]);
        }
      }
    }
    float* sums = out.sums + First * out.sums_row;
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r, sums += out.sums_row) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        store(sums + v * n, out.add ? load(sums + v * n) + sum[r][v] : sum[r][v]);
    }
  }
};
using By = ByPairs;
#else
using By = ByTiles;
#endif

constexpr int64_t kSide = By::kWidth;           // queries of a panel
constexpr int kVectors = kSide / lanes<float>;  // of a row of a panel
constexpr int64_t kBlock = 256;                 // keys
constexpr int64_t kChunk = 128;                 // queries whose p and ds are kept, backward

using Bits = uint32_t;  // two halves

// Panels of A or B side by side, each of kSide rows or columns, over a sum of `depth` products.
inline int64_t panel_size(int64_t depth) { return kSide * By::entries(depth); }
inline int64_t panels_size(int64_t rows, int64_t depth) {
  return blocks(rows, kSide) * panel_size(depth);
}
// Where product p of a panel is.
inline int64_t offset_of(int64_t p) { return p / 2 * kSide; }

// m as A, whose rows are m's.
void pack_rows(Bits* to, const Matrix<BFloat16>& m) {
  for (int64_t i = 0; i < m.rows; i += kSide, to += panel_size(m.columns))
    By::pack_a(to, m.data + i * m.row, m.column, m.row, m.columns, m.rows - i, kSide);
}
Matrix<BFloat16> transposed(const Matrix<BFloat16>& m) {
  return {m.data, m.columns, m.rows, m.column, m.row};
}
// Columns [j, j + kSide) of m as B.
void pack_columns(Bits* to, const Matrix<BFloat16>& m, int64_t j) {
  By::pack_b(to, m.data + j * m.column, m.row, m.column, m.rows, kSide, m.columns - j);
}

// Memory for `count` words. (Behind a panel, packing may write two vectors more.)
Bits* take(Arena<float>& arena, int64_t count) {
  return reinterpret_cast<Bits*>(arena.take(count + 2 * lanes<float>));
}

// sums (rows, kSide) = or += panels a, b of which `depth` products are taken, a's `a_size` apart.
void multiply(By& by, const Bits* a, int64_t a_size, const Bits* b, int64_t rows, int64_t depth,
              float* sums, bool add) {
  for (int64_t i = 0; i < rows; i += kSide, a += a_size, sums += kSide * kSide)
    by.multiply(a, b, By::entries(depth), kSide, kSide, {sums, kSide, add});
}

// The mask of a block of keys and a panel of queries: per kCols queries (kBlock, kCols).
constexpr int64_t kMaskSize = (kBlock + 1) * kSide;
void pack_mask(float* to, const Matrix<float>& m, int64_t first, int64_t block, int64_t keys) {
  constexpr int cols = kCols<float>;
  for (int64_t i = first; i < smaller(first + kSide, m.rows); i += cols, to += kBlock * cols)
    pack<float, cols>(to, m.data + i * m.row + block * m.column, m.column, m.row, keys, m.rows - i,
                      m.readable(i, block));
}

// Score j of a block, of vector c of the queries from `first` on: scaled, masked, or -inf.
Vec<float> score_of(const Head<BFloat16>& h, const float* scores, const float* mask, int64_t block,
                    int64_t first, int64_t j, int c) {
  constexpr int n = lanes<float>;
  Vec<float> s = load(scores + j * kSide + c * n) * h.scale;
  if (mask) s += load(mask + (c / 2 * kBlock + j) * 2 * n + c % 2 * n);
  const auto key = static_cast<float>(block + j - first);
  if (h.causal && key > 0)
    s = select(count_up<float>() + static_cast<float>(c * n) < key, splat(-__builtin_inff()), s);
  return s;
}

// ---- Forward

struct HalfForward {
  using T = BFloat16;
  static constexpr int64_t kColumns = kSide;

  struct Memory {
    Bits *k, *v, *q, *p;
    float *scores, *mask, *out;

    Memory(const Head<T>& h, Arena<float>& arena)
        : k(take(arena, panels_size(h.k.rows, h.k.columns))),
          v(take(arena, panels_size(h.v.columns, h.v.rows))),
          q(take(arena, panel_size(h.q.columns))),
          p(take(arena, panel_size(kBlock))),
          scores(arena.take(kBlock * kSide)),
          mask(h.mask.data ? arena.take(kMaskSize) : nullptr),
          out(arena.take(round_up(h.v.columns, kSide) * kSide)) {}
  };

  const Head<T>& head;
  const Memory memory;
  By by;

  HalfForward(const Head<T>& h, const Memory& m) : head(h), memory(m) {
    pack_rows(m.k, h.k);
    pack_rows(m.v, transposed(h.v));
  }

  void compute_panel(int64_t first) {
    constexpr int n = lanes<float>;
    const Vec<float> lowest = splat(-__builtin_inff());
    const Memory& m = memory;
    const int64_t seen = head.keys_seen(first + kSide), width = head.k.columns;
    const int64_t out_size = round_up(head.v.columns, kSide) * kSide;
    pack_columns(m.q, transposed(head.q), first);
    for (int64_t i = 0; seen == 0 && i < out_size; ++i) m.out[i] = 0;
    Vec<float> peak[kVectors], sum[kVectors] = {};
    for (Vec<float>& p : peak) p = lowest;
    for (int64_t block = 0; block < seen; block += kBlock) {
      const int64_t keys = smaller(kBlock, seen - block);
      multiply(by, m.k + block / kSide * panel_size(width), panel_size(width), m.q, keys, width,
               m.scores, false);
      if (m.mask) pack_mask(m.mask, head.mask, first, block, keys);
      Vec<float> keep[kVectors];
      for (int c = 0; c < kVectors; ++c) {
        Vec<float> larger = peak[c];
        for (int64_t j = 0; j < keys; ++j) {
          const Vec<float> s = score_of(head, m.scores, m.mask, block, first, j, c);
          larger = select(s > larger, s, larger);
          store(m.scores + j * kSide + c * n, s);
        }
        // -inf less -inf is no number
        const Vec<float> shift = select(larger == lowest, Vec<float>{}, larger);
        keep[c] = exp_score(peak[c] - shift);
        peak[c] = larger;
        sum[c] *= keep[c];
        const auto p_of = [&](int64_t j) {
          if (j >= keys) return Vec<float>{};
          const Vec<float> p = exp_score(load(m.scores + j * kSide + c * n) - shift);
          sum[c] += p;
          return p;
        };
        for (int64_t j = 0; j < round_up(keys, kSide); j += 2) {
          const Vec<float> low = p_of(j), high = p_of(j + 1);
          store(m.p + offset_of(j) + c * n, pairs_of(low, high));
        }
      }
      for (int64_t i = 0; block > 0 && i < out_size; i += kSide)
        for (int c = 0; c < kVectors; ++c)
          store(m.out + i + c * n, load(m.out + i + c * n) * keep[c]);
      multiply(by, m.v + offset_of(block), panel_size(head.v.rows), m.p, head.v.columns, keys,
               m.out, block > 0);
    }
    write_outputs(head, first, m.out, peak, sum);
  }
};

// ---- Backward

// Row i of a times row i of b, summed.
float dot(const Matrix<BFloat16>& a, const Matrix<BFloat16>& b, int64_t i) {
  constexpr int n = lanes<float>;
  const BFloat16 *const x = a.data + i * a.row, *const y = b.data + i * b.row;
  Vec<float> products{};
  const int64_t whole = a.column == 1 && b.column == 1 ? a.columns / n * n : 0;
  for (int64_t e = 0; e < whole; e += n)
    products += Whole<float>().load(x + e) * Whole<float>().load(y + e);
  float sum = 0;
  for (int s = 0; s < n; ++s) sum += products[s];
  for (int64_t e = whole; e < a.columns; ++e)
    sum += element(x + e * a.column) * element(y + e * b.column);
  return sum;
}

struct HalfBackward {
  using T = BFloat16;
  static constexpr int64_t kColumns = kSide, kKeys = kBlock;

  struct Memory {
    int64_t queries, width, value_width, dq_size;  // in whole panels
    Bits *k, *k_columns, *v;                       // A: (keys, width), its transpose, (keys, *)
    Bits *q, *grad;                                // B: per panel of queries (width, kSide)
    Bits *q_rows, *grad_rows;                      // B: per kSide columns (queries, kSide)
    float *dots, *log_sums;                        // per query; inf where there is none
    float *scores, *dp, *mask;                     // (kBlock, kSide)
    Bits *p, *ds;                                  // A: (kBlock, kChunk)
    Bits* ds_columns;                              // B: (kBlock, kSide)
    float *dk, *dv;                                // per kSide columns (kBlock, kSide)
    float* dq;                                     // per panel (width, kSide)

    Memory(const Head<T>& h, Arena<float>& arena)
        : queries(round_up(h.q.rows, kSide)),
          width(round_up(h.q.columns, kSide)),
          value_width(round_up(h.v.columns, kSide)),
          dq_size(queries * width),
          k(take(arena, panels_size(h.k.rows, width))),
          k_columns(take(arena, panels_size(width, h.k.rows))),
          v(take(arena, panels_size(h.v.rows, value_width))),
          q(take(arena, panels_size(queries, width))),
          grad(take(arena, panels_size(queries, value_width))),
          q_rows(take(arena, panels_size(width, queries))),
          grad_rows(take(arena, panels_size(value_width, queries))),
          dots(arena.take(queries)),
          log_sums(arena.take(queries)),
          scores(arena.take(kBlock * kSide)),
          dp(arena.take(kBlock * kSide)),
          mask(h.mask.data ? arena.take(kMaskSize) : nullptr),
          p(take(arena, panels_size(kBlock, kChunk))),
          ds(take(arena, panels_size(kBlock, kChunk))),
          ds_columns(take(arena, panel_size(kBlock))),
          dk(arena.take(width * kBlock)),
          dv(arena.take(value_width * kBlock)),
          dq(arena.take(dq_size)) {}
  };

  const Head<T>& head;
  const Memory& memory;
  By by;

  HalfBackward(const Head<T>& h, const Memory& m) : head(h), memory(m) {}
  static int64_t panel_rows(int64_t columns) { return round_up(columns, kSide); }

  void pack_queries() const {
    const Memory& m = memory;
    for (int64_t i = 0; i < m.queries; ++i) {
      m.dots[i] = i < head.q.rows ? dot(head.grad, head.out, i) : 0;
      m.log_sums[i] = i < head.q.rows ? head.log_sums[i] : __builtin_inff();
    }
    for (int64_t i = 0; i < m.queries; i += kSide) {
      pack_columns(m.q + i / kSide * panel_size(m.width), transposed(head.q), i);
      pack_columns(m.grad + i / kSide * panel_size(m.value_width), transposed(head.grad), i);
    }
    for (int64_t e = 0; e < m.width; e += kSide)
      pack_columns(m.q_rows + e / kSide * panel_size(m.queries), head.q, e);
    for (int64_t e = 0; e < m.value_width; e += kSide)
      pack_columns(m.grad_rows + e / kSide * panel_size(m.queries), head.grad, e);
  }

  // p and ds = p (v grad^T - dot) of a block of keys and the panel of queries from `first` on,
  // which is `place` in its chunk; of keys that it does not see they are 0.
  void find_score_gradients(int64_t block, int64_t first, int64_t place) {
    constexpr int n = lanes<float>;
    const Memory& m = memory;
    const int64_t keys = smaller(kBlock, head.keys_seen(first + kSide) - block);
    const Bits* const q = m.q + first / kSide * panel_size(m.width);
    const Bits* const grad = m.grad + first / kSide * panel_size(m.value_width);
    multiply(by, m.k + block / kSide * panel_size(m.width), panel_size(m.width), q, keys, m.width,
             m.scores, false);
    multiply(by, m.v + block / kSide * panel_size(m.value_width), panel_size(m.value_width), grad,
             keys, m.value_width, m.dp, false);
    if (m.mask) pack_mask(m.mask, head.mask, first, block, keys);
    for (int64_t j = 0; j < round_up(keys, kSide); j += 2) {
      for (int c = 0; c < kVectors; ++c) {
        const Vec<float> log_sum = load(m.log_sums + first + c * n);
        const Vec<float> dot = load(m.dots + first + c * n);
        const auto there = log_sum != __builtin_inff();
        Vec<float> p[2] = {}, ds[2] = {};
        for (int r = 0; r < 2; ++r) {
          const int64_t key = j + r;
          if (key < keys) {
            const Vec<float> s = score_of(head, m.scores, m.mask, block, first, key, c);
            p[r] = select(there, exp_score(s - log_sum), Vec<float>{});
            ds[r] = select(there, p[r] * (load(m.dp + key * kSide + c * n) - dot), Vec<float>{});
          }
          const int64_t at = key / kSide * panel_size(kChunk) +
                             By::place(static_cast<int>(key % kSide), place / 2, kSide);
          Whole<float>().store(reinterpret_cast<BFloat16*>(m.p + at) + c * n, p[r]);
          Whole<float>().store(reinterpret_cast<BFloat16*>(m.ds + at) + c * n, ds[r]);
        }
        store(m.ds_columns + offset_of(j) + c * n, pairs_of(ds[0], ds[1]));
      }
    }
  }

  // sums (keys of a block, columns), in panels of kSide columns, += a @ the queries [first, end)
  // that see the key.
  void add_rows(float* sums, const Bits* a, const Bits* rows, int64_t columns, int64_t block,
                int64_t first, int64_t end) {
    const int64_t keys = smaller(kBlock, head.k.rows - block);
    for (int64_t e = 0; e < columns; e += kSide, sums += kBlock * kSide) {
      const Bits* const column = rows + e / kSide * panel_size(memory.queries);
      for (int64_t i = 0; i < keys; i += kSide) {
        const int64_t seen = head.causal ? larger(first, block + i) : first;
        if (seen >= end) break;
        multiply(by, a + i / kSide * panel_size(kChunk) + offset_of(seen - first), 0,
                 column + offset_of(seen), kSide, end - seen, sums + i * kSide, true);
      }
    }
  }

  // m[row + r, :] = sums * scale.
  static void write_rows(const Matrix<T>& m, int64_t row, const float* sums, float scale) {
    for (int64_t r = 0; r < smaller(kBlock, m.rows - row); ++r)
      for (int64_t e = 0; e < m.columns; e += lanes<float>) {
        const Vec<float> x = load(sums + (e / kSide * kBlock + r) * kSide + e % kSide) * scale;
        T* const to = m.data + (row + r) * m.row + e * m.column;
        const int64_t count = smaller(lanes<float>, m.columns - e);
        if (m.column == 1)
          Front<float>(count).store(to, x);
        else
          for (int64_t p = 0; p < count; ++p) to[p * m.column] = T(x[p]);
      }
  }

  // Blocks [begin, end) of the keys; their part of dq.
  void compute_blocks(int64_t begin, int64_t end, float* dq) {
    const Memory& m = memory;
    pack_rows(m.k, head.k);
    pack_rows(m.k_columns, transposed(head.k));
    pack_rows(m.v, head.v);
    pack_queries();
    for (int64_t i = 0; i < m.dq_size; ++i) dq[i] = 0;
    for (int64_t block = begin * kBlock; block < smaller(end * kBlock, head.k.rows);
         block += kBlock) {
      for (int64_t i = 0; i < m.width * kBlock; ++i) m.dk[i] = 0;
      for (int64_t i = 0; i < m.value_width * kBlock; ++i) m.dv[i] = 0;
      for (int64_t first = head.causal ? block : 0; first < m.queries; first += kChunk) {
        const int64_t depth = smaller(kChunk, m.queries - first);
        for (int64_t i = first; i < first + depth; i += kSide) {
          find_score_gradients(block, i, i - first);
          multiply(by, m.k_columns + offset_of(block), panel_size(head.k.rows), m.ds_columns,
                   m.width, smaller(kBlock, head.keys_seen(i + kSide) - block), dq + i * m.width,
                   true);
        }
        add_rows(m.dv, m.p, m.grad_rows, m.value_width, block, first, first + depth);
        add_rows(m.dk, m.ds, m.q_rows, m.width, block, first, first + depth);
      }
      write_rows(head.k_grad, block, m.dk, head.scale);
      write_rows(head.v_grad, block, m.dv, 1);
    }
  }
};

}  // namespace

namespace TT_ISA {
extern const AttentionTable attention_halves = {
    {nullptr, nullptr, nullptr, forward<HalfForward>},
    {nullptr, nullptr, nullptr, backward<HalfBackward>}};
}

}  // namespace tt::cpu
