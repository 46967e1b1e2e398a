// What both directions of attention are made of: matrices and how they are laid out, tiles of
// scores.
#pragma once
#include "core/tables/attention.h"
#include "cpu/infra/line_views.h"
#include "cpu/infra/tasks.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

constexpr int64_t kUnit = kRows / 3;  // rows of the smallest tile
constexpr int64_t kKeys = 8 * kRows;  // of a block

// One matrix; strides in elements.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns, row, column;

  int64_t readable(int64_t i, int64_t j) const {
    return (rows - 1 - i) * row + (columns - 1 - j) * column + 1;
  }
};

// What one head reads and writes.
template <class T>
struct Head {
  Matrix<T> q, k, v, out, mask, grad, q_grad, k_grad, v_grad;
  T* log_sums;
  T scale;
  bool causal;

  // Keys that some query of the panel from i on sees.
  int64_t keys_seen(int64_t i) const { return causal ? smaller(k.rows, i + kCols<T>) : k.rows; }
};

template <class T>
Matrix<T> matrix_at(const AttentionArgs& a, const Matrices& m, int64_t index, int64_t rows,
                    int64_t columns) {
  T* data = reinterpret_cast<T*>(m.data);
  if (!data) return {};
  for (int d = a.batch.size() - 1; d >= 0; --d) {
    data += index % a.batch[d] * m.batch[d];
    index /= a.batch[d];
  }
  return {data, rows, columns, m.row, m.column};
}

template <class T>
Head<T> head_at(const AttentionArgs& a, int64_t i) {
  return {matrix_at<T>(a, a.q, i, a.queries, a.width),
          matrix_at<T>(a, a.k, i, a.keys, a.width),
          matrix_at<T>(a, a.v, i, a.keys, a.value_width),
          matrix_at<T>(a, a.out, i, a.queries, a.value_width),
          matrix_at<T>(a, a.mask, i, a.queries, a.keys),
          matrix_at<T>(a, a.grad, i, a.queries, a.value_width),
          matrix_at<T>(a, a.q_grad, i, a.queries, a.width),
          matrix_at<T>(a, a.k_grad, i, a.keys, a.width),
          matrix_at<T>(a, a.v_grad, i, a.keys, a.value_width),
          reinterpret_cast<T*>(a.log_sums) + i * a.queries,
          static_cast<T>(a.scale),
          a.causal};
}

inline int64_t head_count(const AttentionArgs& a) {
  int64_t count = 1;
  for (int64_t n : a.batch) count *= n;
  return count;
}

// ---- Laying out what the register tile reads and writes

// Hands out pieces of a thread's memory; without memory it counts.
template <class T>
struct Arena {
  T* memory;
  int64_t used = 0;

  T* take(int64_t count) {
    T* piece = memory ? memory + used : nullptr;
    used += round_up(count, 64);
    return piece;
  }
};

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

// m[i + c, j] = panel[j, c] * factor[c], of the rows that are there.
template <class T>
void write_columns(const Matrix<T>& m, int64_t i, const T* panel, const Vec<T> (&factor)[2]) {
  constexpr int n = lanes<T>;
  for (int half = 0; half < 2 && i < m.rows; ++half, i += n, panel += n) {
    const int64_t count = smaller(n, m.rows - i);
    T* to = m.data + i * m.row;
    for (int64_t j = 0; j < m.columns; j += n) {
      Vec<T> block[n];
      const int64_t width = smaller(n, m.columns - j);
#pragma GCC unroll 16
      for (int p = 0; p < n; ++p)
        block[p] = p < width ? load(panel + (j + p) * kCols<T>) * factor[half] : Vec<T>{};
      transpose<T>(block);
#pragma GCC unroll 16
      for (int c = 0; c < n; ++c) {
        if (c >= count) break;
        T* const row = to + c * m.row + j * m.column;
        if (m.column == 1 && width == n) {
          store(row, block[c]);
        } else {
          for (int64_t p = 0; p < width; ++p) row[p * m.column] = block[c][p];
        }
      }
    }
  }
}

// ---- Scores

// e^x of what is at most 0, or hardly more, or -inf; 0 where it would be subnormal, which costs a
// hundred cycles where it turns up.
inline Vec<float> exp_score(Vec<float> x) {
  return select(x < -87.0f, Vec<float>{}, exp_bounded(at_least(x, -87.0f)));
}
inline Vec<double> exp_score(Vec<double> x) { return exp_below(x); }

template <class T>
struct Panel {
  int64_t first;  // query
  const T* q;     // (width, kCols), scaled
  const T* mask;  // (keys of the block, kCols), or null
};

// The first numbers from 0 on.
template <class T>
inline Vec<T> count_up() {
  Vec<T> v;
  for (int i = 0; i < lanes<T>; ++i) v[i] = static_cast<T>(i);
  return v;
}

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
