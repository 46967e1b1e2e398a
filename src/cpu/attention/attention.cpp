// Attention of float32 and float64, compiled per instruction set with contraction to FMA.
//
// Scores are computed a block of keys by a panel of queries at a time, and never stored: forward
// keeps a running maximum and sum per query (Milakov and Gimelshein 2018; Dao et al. 2022) and
// saves only the log of the sum, from which backward computes the scores again.
//
// Queries are columns throughout, so that maxima and sums need no sum across a vector. A block of
// probabilities (keys, kCols) then is a panel for the register tile of gemm_tile.h as it stands:
//   scores^T = k q^T,  out^T = v^T p^T,  dq^T = k^T ds^T,  dk = ds^T q,  dv = p^T grad.

#include "cpu/attention/backward.h"
#include "cpu/attention/tile.h"

namespace tt::cpu {
namespace {

template <class T>
struct ForwardMemory {
  T *k, *v, *q, *mask, *p, *out;

  ForwardMemory(const Head<T>& h, Arena<T>& arena)
      : k(arena.take(padded_size(h.k))),
        v(arena.take(padded_size(h.v))),
        q(arena.take((h.q.columns + 1) * kCols<T>)),
        mask(h.mask.data ? arena.take((kKeys + 1) * kCols<T>) : nullptr),
        p(arena.take(kKeys * kCols<T>)),
        out(arena.take(round_up(h.v.columns, kUnit) * kCols<T>)) {}
};

template <class T>
void forward_panel(const Head<T>& h, const Matrix<T>& k, const Matrix<T>& v, int64_t first,
                   const ForwardMemory<T>& memory) {
  constexpr int n = lanes<T>, cols = kCols<T>;
  const T lowest = -static_cast<T>(__builtin_inff());
  const Panel<T> panel = {first, memory.q, memory.mask};
  pack_scaled(memory.q, h.q, first, h.scale);
  for (int64_t i = 0; i < round_up(v.columns, kUnit) * 2; ++i) store(memory.out + i * n, Vec<T>{});
  Vec<T> peak[2] = {splat(lowest), splat(lowest)}, sum[2] = {};
  const int64_t seen = h.keys_seen(first + cols);
  for (int64_t block = 0; block < seen; block += kKeys) {
    const int64_t end = smaller(seen, block + kKeys);
    if (h.mask.data) pack_columns(memory.mask, h.mask, first, block, end - block);
    Vec<T> larger[2] = {peak[0], peak[1]};
    for_tiles(block, end, [&](auto size, int64_t j) {
      constexpr int Rows = decltype(size)::value;
      Vec<T> s[Rows][2] = {};
      score_tile<T, Rows>(h, k, panel, j, j - block, s);
      T* const to = memory.p + (j - block) * cols;
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
          larger[c] = select(s[r][c] > larger[c], s[r][c], larger[c]);
          store(to + r * cols + c * n, s[r][c]);
        }
      }
    });
    Vec<T> keep[2], shift[2];
    for (int c = 0; c < 2; ++c) {
      shift[c] = select(larger[c] == lowest, Vec<T>{}, larger[c]);  // -inf less -inf is no number
      keep[c] = exp_score(peak[c] - shift[c]);
      peak[c] = larger[c];
      sum[c] *= keep[c];
    }
    for (int64_t j = 0; j < end - block; ++j) {
      T* const row = memory.p + j * cols;
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) {
        const Vec<T> p = exp_score(load(row + c * n) - shift[c]);
        sum[c] += p;
        store(row + c * n, p);
      }
    }
    add_transposed(memory.out, v.data + block * v.row, v.row, v.columns, memory.p, end - block,
                   keep);
  }
  write_outputs(h, first, memory.out, peak, sum);
}

template <class E>
struct VectorForward {
  using T = E;
  using Memory = ForwardMemory<T>;
  static constexpr int64_t kColumns = kCols<T>;
  const Head<T>& head;
  const Memory memory;
  const Matrix<T> k, v;

  VectorForward(const Head<T>& h, const Memory& m)
      : head(h), memory(m), k(dense(h.k, m.k)), v(dense(h.v, m.v)) {}
  void compute_panel(int64_t first) const { forward_panel(head, k, v, first, memory); }
};

}  // namespace

namespace TT_ISA {
extern const AttentionTable attention_table = {
    {forward<VectorForward<float>>, forward<VectorForward<double>>},
    {backward<VectorBackward<float>>, backward<VectorBackward<double>>}};
}

}  // namespace tt::cpu
