// Attention's heads: what one reads and writes, how they are handed out to threads, and what all
// ways of computing one share.
#pragma once
#include "core/tables/attention.h"
#include "cpu/infra/line_views.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

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
  using N = Computed<T>;
  Matrix<T> q, k, v, out, grad, q_grad, k_grad, v_grad;
  Matrix<N> mask;
  N* log_sums;
  N scale;
  bool causal;

  // Keys that some query before `end` sees.
  int64_t keys_seen(int64_t end) const { return causal ? smaller(k.rows, end) : k.rows; }
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
          matrix_at<T>(a, a.grad, i, a.queries, a.value_width),
          matrix_at<T>(a, a.q_grad, i, a.queries, a.width),
          matrix_at<T>(a, a.k_grad, i, a.keys, a.width),
          matrix_at<T>(a, a.v_grad, i, a.keys, a.value_width),
          matrix_at<Computed<T>>(a, a.mask, i, a.queries, a.keys),
          reinterpret_cast<Computed<T>*>(a.log_sums) + i * a.queries,
          static_cast<Computed<T>>(a.scale),
          a.causal};
}

inline int64_t head_count(const AttentionArgs& a) {
  int64_t count = 1;
  for (int64_t n : a.batch) count *= n;
  return count;
}

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

// m[i + c, j] = panel[j, c] * factor[c], of the rows that are there.
template <class S, class T, int Vectors>
void write_columns(const Matrix<S>& m, int64_t i, const T* panel, const Vec<T> (&factor)[Vectors]) {
  constexpr int n = lanes<T>;
  for (int v = 0; v < Vectors && i < m.rows; ++v, i += n, panel += n) {
    const int64_t count = smaller(n, m.rows - i);
    S* to = m.data + i * m.row;
    for (int64_t j = 0; j < m.columns; j += n) {
      Vec<T> block[n];
      const int64_t width = smaller(n, m.columns - j);
#pragma GCC unroll 16
      for (int p = 0; p < n; ++p)
        block[p] = p < width ? load(panel + (j + p) * Vectors * n) * factor[v] : Vec<T>{};
      transpose<T>(block);
#pragma GCC unroll 16
      for (int c = 0; c < n; ++c) {
        if (c >= count) break;
        S* const row = to + c * m.row + j * m.column;
        if (m.column == 1 && width == n) {
          Whole<T>().store(row, block[c]);
        } else {
          for (int64_t p = 0; p < width; ++p) row[p * m.column] = S(block[c][p]);
        }
      }
    }
  }
}

// The outputs and the log sums of the queries from `first` on: of each, a column of the panel is
// its sum of values, `sum` that of their weights e^(score - peak); 0 where it sees no key.
template <class S, class T, int Vectors>
void write_outputs(const Head<S>& h, int64_t first, const T* panel, const Vec<T> (&peak)[Vectors],
                   const Vec<T> (&sum)[Vectors]) {
  constexpr int n = lanes<T>;
  Vec<T> factor[Vectors];
  for (int c = 0; c < Vectors; ++c) {
    const auto none = sum[c] == 0;
    factor[c] = select(none, Vec<T>{}, 1 / sum[c]);
    const Vec<T> log_sum = select(none, Vec<T>{}, peak[c] + log(sum[c]));
    const int64_t i = first + c * n;
    if (i < h.q.rows) store_partial(h.log_sums + i, log_sum, smaller(n, h.q.rows - i));
  }
  write_columns(h.out, first, panel, factor);
}

// e^x of what is at most 0, or hardly more, or -inf; 0 where it would be subnormal, which costs a
// hundred cycles where it turns up.
inline Vec<float> exp_score(Vec<float> x) {
  return select(x < -87.0f, Vec<float>{}, exp_bounded(at_least(x, -87.0f)));
}
inline Vec<double> exp_score(Vec<double> x) { return exp_below(x); }

// The first numbers from 0 on.
template <class T>
inline Vec<T> count_up() {
  Vec<T> v;
  for (int i = 0; i < lanes<T>; ++i) v[i] = static_cast<T>(i);
  return v;
}

// The gradient of the queries, from panels of (its columns, kColumns).
template <class Way>
void write_queries(const Head<typename Way::T>& h, const Computed<typename Way::T>* dq) {
  using N = Computed<typename Way::T>;
  Vec<N> factor[Way::kColumns / lanes<N>];
  for (Vec<N>& f : factor) f = splat(h.scale);
  const int64_t size = Way::panel_rows(h.q.columns) * Way::kColumns;
  for (int64_t i = 0; i < h.q.rows; i += Way::kColumns, dq += size)
    write_columns(h.q_grad, i, dq, factor);
}

// ---- Who computes what: Way is how, of a head: its Memory, and panels of kColumns queries.

constexpr double kLongWork = 1e9;  // multiply-adds

inline double work_of(const AttentionArgs& a) {
  return double(head_count(a)) * double(a.queries) * double(a.keys) *
         double(a.width + a.value_width);
}

template <class Way>
void forward(const AttentionArgs& a) {
  using T = typename Way::T;
  const int64_t heads = head_count(a), panels = blocks(a.queries, Way::kColumns);
  if (heads == 0 || panels == 0) return;
  const int workers = work_of(a) > kParallelWork ? num_threads() : 1;
  // Enough for the workers, and that Ctrl-C waits for none that is long.
  const int64_t enough = (workers == 1 ? 1 : 4 * workers) + int64_t(work_of(a) / kLongWork);
  const int64_t parts = smaller(panels, blocks(enough, heads));
  Arena<Computed<T>> count{nullptr};
  typename Way::Memory(head_at<T>(a, 0), count);
  const Scratch<Computed<T>> scratch(workers * count.used);
  run_tasks(heads * parts, workers, [&](int64_t task, int64_t worker) {
    const Head<T> head = head_at<T>(a, task / parts);
    const int64_t part = task % parts;
    Arena<Computed<T>> arena{scratch.data + worker * count.used};
    Way way(head, typename Way::Memory(head, arena));
    for (int64_t panel = panels * part / parts; panel < panels * (part + 1) / parts; ++panel)
      way.compute_panel(panel * Way::kColumns);
  });
}

// Few heads are cut into parts by keys, whose dq are added in order; as many as the shape says.
constexpr int64_t kFewHeads = 16;

template <class Way>
void backward(const AttentionArgs& a) {
  using T = typename Way::T;
  using N = Computed<T>;
  const int64_t heads = head_count(a);
  if (heads == 0) return;
  const int workers = work_of(a) > kParallelWork ? num_threads() : 1;
  const int64_t key_blocks = blocks(a.keys, Way::kKeys);
  const int64_t wanted = smaller(key_blocks, kFewHeads / heads);
  const int64_t parts = wanted < 1 ? 1 : wanted;
  Arena<N> count{nullptr};
  const int64_t dq_size = typename Way::Memory(head_at<T>(a, 0), count).dq_size;
  const int64_t partial_size = parts > 1 ? heads * parts * dq_size : 0;
  const Scratch<N> all(workers * count.used + partial_size);
  N *const scratch = all.data, *const partial = scratch + workers * count.used;
  run_tasks(heads * parts, workers, [&](int64_t task, int64_t worker) {
    const Head<T> head = head_at<T>(a, task / parts);
    const int64_t part = task % parts;
    Arena<N> arena{scratch + worker * count.used};
    const typename Way::Memory memory(head, arena);
    N* const dq = parts > 1 ? partial + task * dq_size : memory.dq;
    Way way(head, memory);
    way.compute_blocks(key_blocks * part / parts, key_blocks * (part + 1) / parts, dq);
    if (parts == 1) write_queries<Way>(head, dq);
  });
  if (parts > 1) {
    run_tasks(heads, workers, [&](int64_t i, int64_t) {
      N* const sum = partial + i * parts * dq_size;
      for (int64_t part = 1; part < parts; ++part)
        for (int64_t at = 0; at < dq_size; ++at) sum[at] += sum[part * dq_size + at];
      write_queries<Way>(head_at<T>(a, i), sum);
    });
  }
}

}  // namespace
}  // namespace tt::cpu
