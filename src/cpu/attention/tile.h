// What both directions of attention are made of: matrices and how they are laid out, tiles of
// scores.
#pragma once
#include "cpu/attention/heads.h"
#include "cpu/infra/line_views.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

constexpr int64_t kUnit = kRows / 3;  // rows of the smallest tile
constexpr int64_t kKeys = 8 * kRows;  // of a block

// ---- Laying out what the register tile reads and writes

template <class T>
int64_t padded_size(const Matrix<T>& m) {
  return round_up(m.rows, kUnit) * round_up(m.columns, kUnit);
}

// The matrix with rows side by side and whole units of both, in `memory` unless it lies so.
template <class T>
Matrix<T> dense(const Matrix<T>& m, T* memory) {
  const int64_t rows = round_up(m.rows, kUnit), columns = round_up(m.columns, kUnit);
  if (m.column == 1 && m.row == m.columns && rows == m.rows && columns == m.columns) return m;
  for (int64_t i = 0; i < rows; ++i) {
    T* to = memory + i * columns;
    const T* from = m.data + i * m.row;
    const int64_t count = i < m.rows ? m.columns : 0;
    if (m.column == 1) {
      if (count) __builtin_memcpy(to, from, static_cast<uint64_t>(count) * sizeof(T));
    } else {
      for (int64_t j = 0; j < count; ++j) to[j] = element(from + j * m.column);
    }
    for (int64_t j = count; j < columns; ++j) to[j] = 0;
  }
  return {memory, m.rows, m.columns, columns, 1};
}

// Rows from i on as columns: (columns, kCols) from column j on. Of rows that are not there the
// panel holds anything.
template <class T>
void pack_columns(T* panel, const Matrix<T>& m, int64_t i, int64_t j, int64_t depth) {
  pack<T, kCols<T>>(panel, m.data + i * m.row + j * m.column, m.column, m.row, depth, m.rows - i,
                    m.readable(i, j));
}

// ---- Scores

template <class T>
struct Panel {
  int64_t first;  // query
  const T* q;     // (width, kCols), scaled
  const T* mask;  // (keys of the block, kCols), or null
};

// Scores of the keys from j on, which is `row` in its block: -inf where a key may not be seen.
template <class T, int Rows>
inline void score_tile(const Head<T>& h, const Matrix<T>& k, const Panel<T>& panel, int64_t j,
                       int64_t row, Vec<T> (&s)[Rows][2]) {
  constexpr int n = lanes<T>;
  add_products<T, Rows>(s, k.data + j * k.row, k.row, 1, panel.q, k.columns);
  if (panel.mask) {
    const T* mask = panel.mask + row * kCols<T>;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      s[r][0] += load(mask + r * kCols<T>);
      s[r][1] += load(mask + r * kCols<T> + n);
    }
  }
  if (h.causal && j + Rows - 1 > panel.first) {
    const Vec<T> query = count_up<T>();
    const Vec<T> hidden = splat<T>(-static_cast<T>(__builtin_inff()));
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const T key = static_cast<T>(j + r - panel.first);
      s[r][0] = select(query < key, hidden, s[r][0]);
      s[r][1] = select(query + n < key, hidden, s[r][1]);
    }
  }
  if (j + Rows > k.rows) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      if (j + r >= k.rows) s[r][0] = s[r][1] = splat<T>(-static_cast<T>(__builtin_inff()));
    }
  }
}

template <class T>
void pack_scaled(T* panel, const Matrix<T>& q, int64_t i, T scale) {
  pack_columns(panel, q, i, 0, q.columns);
  for (int64_t p = 0; p < q.columns * 2; ++p)
    store(panel + p * lanes<T>, load(panel + p * lanes<T>) * scale);
}

// out^T (rows of a, kCols) = keep out^T + a^T p, where a is (depth, its rows) and p a panel.
template <class T>
void add_transposed(T* out, const T* a, int64_t a_row, int64_t rows, const T* p, int64_t depth,
                    const Vec<T> (&keep)[2]) {
  constexpr int n = lanes<T>;
  for_tiles(0, rows, [&](auto size, int64_t e) {
    constexpr int Rows = decltype(size)::value;
    T* const to = out + e * kCols<T>;
    Vec<T> sum[Rows][2];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] = load(to + r * kCols<T>) * keep[0];
      sum[r][1] = load(to + r * kCols<T> + n) * keep[1];
    }
    add_products<T, Rows>(sum, a + e, 1, a_row, p, depth);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      store(to + r * kCols<T>, sum[r][0]);
      store(to + r * kCols<T> + n, sum[r][1]);
    }
  });
}

}  // namespace
}  // namespace tt::cpu
