// The gradients of attention: the keys of a head, a block at a time.
#pragma once
#include "cpu/attention/tile.h"

namespace tt::cpu {
namespace {

template <class T>
struct BackwardMemory {
  int64_t panels, q_size, v_size, q_chunks, v_chunks;  // sizes of (columns, kCols)
  int64_t dq_size;
  T *k, *v;
  T *q_columns, *grad_columns;  // per panel (columns, kCols)
  T *q_rows, *grad_rows;        // per panel, per kCols columns (queries, kCols)
  T *dots, *log_sums;           // per query
  T *p, *ds, *mask;             // (kKeys, kCols)
  T *dk, *dv;                   // per kCols columns (kKeys, kCols)
  T* dq;                        // per panel (columns, kCols)

  BackwardMemory(const Head<T>& h, Arena<T>& arena)
      : panels(blocks(h.q.rows, kCols<T>)),
        q_size(round_up(h.q.columns, kUnit) * kCols<T>),
        v_size(round_up(h.v.columns, kUnit) * kCols<T>),
        q_chunks(blocks(h.q.columns, kCols<T>)),
        v_chunks(blocks(h.v.columns, kCols<T>)),
        dq_size(panels * q_size),
        k(arena.take(padded_size(h.k))),
        v(arena.take(padded_size(h.v))),
        q_columns(arena.take(panels * q_size + kCols<T>)),
        grad_columns(arena.take(panels * v_size + kCols<T>)),
        q_rows(arena.take(panels * q_chunks * kChunk + kCols<T>)),
        grad_rows(arena.take(panels * v_chunks * kChunk + kCols<T>)),
        dots(arena.take(panels * kCols<T>)),
        log_sums(arena.take(panels * kCols<T>)),
        p(arena.take(kKeys * kCols<T>)),
        ds(arena.take(kKeys * kCols<T>)),
        mask(h.mask.data ? arena.take((kKeys + 1) * kCols<T>) : nullptr),
        dk(arena.take(q_chunks * kKeys * kCols<T>)),
        dv(arena.take(v_chunks * kKeys * kCols<T>)),
        dq(arena.take(dq_size)) {}

  static constexpr int64_t kChunk = kCols<T> * kCols<T>;
};

template <class T>
void pack_queries(const Head<T>& h, const BackwardMemory<T>& m) {
  constexpr int n = lanes<T>, cols = kCols<T>;
  for (int64_t panel = 0; panel < m.panels; ++panel) {
    const int64_t i = panel * cols, depth = smaller(cols, h.q.rows - i);
    T* const grad = m.grad_columns + panel * m.v_size;
    T* const out = m.grad_rows + panel * m.v_chunks * m.kChunk;  // for now
    pack_columns(grad, h.grad, i, 0, h.grad.columns);
    Vec<T> dot[2] = {};
    for (int64_t e = 0; e < h.out.columns; e += cols) {
      const int64_t count = smaller(cols, h.out.columns - e);
      pack_columns(out, h.out, i, e, count);
      for (int64_t p = 0; p < count; ++p) {
        dot[0] += load(grad + (e + p) * cols) * load(out + p * cols);
        dot[1] += load(grad + (e + p) * cols + n) * load(out + p * cols + n);
      }
    }
    store(m.dots + i, dot[0]);
    store(m.dots + i + n, dot[1]);
    for (int64_t c = 0; c < cols; ++c) m.log_sums[i + c] = c < depth ? h.log_sums[i + c] : T(0);
    const auto pack_rows = [&](T* to, const Matrix<T>& from) {
      for (int64_t e = 0; e < from.columns; e += cols, to += m.kChunk)
        pack<T, cols>(to, from.data + i * from.row + e * from.column, from.row, from.column, depth,
                      from.columns - e, from.readable(i, e));
    };
    pack_scaled(m.q_columns + panel * m.q_size, h.q, i, h.scale);
    pack_rows(m.q_rows + panel * m.q_chunks * m.kChunk, h.q);
    pack_rows(m.grad_rows + panel * m.v_chunks * m.kChunk, h.grad);
  }
}

// p = exp(s - log sum) and ds = p (v grad^T - dot) of a block of keys and a panel of queries.
template <class T>
void score_gradients(const Head<T>& h, const BackwardMemory<T>& m, const Matrix<T>& k,
                     const Matrix<T>& v, int64_t panel, int64_t block, int64_t end) {
  constexpr int n = lanes<T>, cols = kCols<T>;
  const int64_t i = panel * cols;
  if (h.mask.data) pack_columns(m.mask, h.mask, i, block, end - block);
  const Panel<T> queries = {i, m.q_columns + panel * m.q_size, m.mask};
  for_tiles(block, end, [&](auto size, int64_t j) {
    constexpr int Rows = decltype(size)::value;
    T *const p = m.p + (j - block) * cols, *const ds = m.ds + (j - block) * cols;
    {
      Vec<T> s[Rows][2] = {};
      score_tile<T, Rows>(h, k, queries, j, j - block, s);
      const Vec<T> sums[2] = {load(m.log_sums + i), load(m.log_sums + i + n)};
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) store(p + r * cols + c * n, exp_score(s[r][c] - sums[c]));
      }
    }
    Vec<T> s[Rows][2] = {};
    add_products<T, Rows>(s, v.data + j * v.row, v.row, 1, m.grad_columns + panel * m.v_size,
                          v.columns);
    const Vec<T> dots[2] = {load(m.dots + i), load(m.dots + i + n)};
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c)
        store(ds + r * cols + c * n, load(p + r * cols + c * n) * (s[r][c] - dots[c]));
    }
  });
}

// sums (keys, columns) += a (keys, queries) @ the rows of a panel; in chunks of kCols columns.
template <class T>
void add_rows(T* sums, const T* a, int64_t keys, const T* rows, int64_t chunks, int64_t depth) {
  constexpr int n = lanes<T>, cols = kCols<T>;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for_tiles(0, keys, [&](auto size, int64_t j) {
      constexpr int Rows = decltype(size)::value;
      T* const to = sums + (chunk * kKeys + j) * cols;
      Vec<T> sum[Rows][2];
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r)
        sum[r][0] = load(to + r * cols), sum[r][1] = load(to + r * cols + n);
      add_products<T, Rows>(sum, a + j * cols, cols, 1, rows + chunk * cols * cols, depth);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        store(to + r * cols, sum[r][0]);
        store(to + r * cols + n, sum[r][1]);
      }
    });
  }
}

// m[row + r, :] = sums * scale, where sums is in chunks of kCols columns.
template <class T>
void write_rows(const Matrix<T>& m, int64_t row, int64_t rows, const T* sums, T scale) {
  constexpr int n = lanes<T>;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t e = 0; e < m.columns; e += n) {
      const T* from = sums + (e / kCols<T> * kKeys + r) * kCols<T> + e % kCols<T>;
      const Vec<T> values = load(from) * scale;
      T* const to = m.data + (row + r) * m.row + e * m.column;
      const int64_t width = smaller(n, m.columns - e);
      if (m.column == 1 && width == n) {
        store(to, values);
      } else {
        for (int64_t p = 0; p < width; ++p) to[p * m.column] = values[p];
      }
    }
  }
}

// Blocks [begin, end) of the keys; their part of dq is added to `dq`.
template <class T>
void backward_blocks(const Head<T>& h, const BackwardMemory<T>& m, int64_t begin, int64_t end,
                     T* dq) {
  constexpr int64_t cols = kCols<T>;
  const Matrix<T> k = dense(h.k, m.k), v = dense(h.v, m.v);
  const Vec<T> one[2] = {splat(T(1)), splat(T(1))};
  pack_queries(h, m);
  for (int64_t i = 0; i < m.dq_size; ++i) dq[i] = 0;
  for (int64_t block = begin * kKeys; block < smaller(end * kKeys, k.rows); block += kKeys) {
    for (int64_t i = 0; i < m.q_chunks * kKeys * cols; ++i) m.dk[i] = 0;
    for (int64_t i = 0; i < m.v_chunks * kKeys * cols; ++i) m.dv[i] = 0;
    for (int64_t panel = h.causal ? block / cols : 0; panel < m.panels; ++panel) {
      const int64_t seen = smaller(h.keys_seen((panel + 1) * cols), block + kKeys);
      const int64_t depth = smaller(cols, h.q.rows - panel * cols);
      score_gradients(h, m, k, v, panel, block, seen);
      add_transposed(dq + panel * m.q_size, k.data + block * k.row, k.row, k.columns, m.ds,
                     seen - block, one);
      add_rows(m.dv, m.p, seen - block, m.grad_rows + panel * m.v_chunks * m.kChunk, m.v_chunks,
               depth);
      add_rows(m.dk, m.ds, seen - block, m.q_rows + panel * m.q_chunks * m.kChunk, m.q_chunks,
               depth);
    }
    const int64_t rows = smaller(kKeys, k.rows - block);
    write_rows(h.k_grad, block, rows, m.dk, h.scale);
    write_rows(h.v_grad, block, rows, m.dv, T(1));
  }
}

template <class E>
struct VectorBackward {
  using T = E;
  using Memory = BackwardMemory<T>;
  static constexpr int64_t kColumns = kCols<T>, kKeys = cpu::kKeys;
  const Head<T>& head;
  const Memory& memory;

  VectorBackward(const Head<T>& h, const Memory& m) : head(h), memory(m) {}
  static int64_t panel_rows(int64_t columns) { return round_up(columns, kUnit); }
  void compute_blocks(int64_t begin, int64_t end, T* dq) const {
    backward_blocks(head, memory, begin, end, dq);
  }
};

}  // namespace
}  // namespace tt::cpu
