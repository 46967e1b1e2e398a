// All phases of a recurrent layer in one parallel region. A thread has some of the hidden units for
// good: it packs their weights once, makes their products and takes their steps, and waits for the
// others once per phase, because products need all units of the step before.
#pragma once
#include <omp.h>

#include "core/tables/recurrent.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"
#include "cpu/matmul/gemm_tile.h"

namespace tt::cpu {
namespace {

// A panel has kCols units of one group (gate), for this many entries of k: it fits the L1 cache.
constexpr int64_t kPanelDepth = 256;
// How far ahead of its use a panel's row is asked for: it may lie in the second cache.
constexpr int kAhead = 12;

// c (Rows, cols) = or += a (Rows, depth) @ panel (depth, kCols), (+ bias).
template <class T, int Rows>
void multiply_panel(const T* a, int64_t a_row, const T* panel, int64_t depth, T* c, int64_t c_row,
                    int64_t cols, bool add, const T* bias) {
  constexpr int n = lanes<T>;
  for (int r = 0; r < Rows; ++r) {
    __builtin_prefetch(c + r * c_row, 1);
    __builtin_prefetch(c + r * c_row + n, 1);
  }
  Vec<T> sum[Rows][2] = {};
  add_products<T, Rows, kAhead>(sum, a, a_row, 1, panel, depth);
#pragma GCC unroll 2
  for (int v = 0; v < 2; ++v) {
    const int64_t some = cols - v * n;
    if (some <= 0) break;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      T* to = c + r * c_row + v * n;
      const auto write = [&](auto memory) {
        Vec<T> value = sum[r][v];
        if (add) value = memory.load(to) + value;
        if (bias) value += memory.load(bias + v * n);
        memory.store(to, value);
      };
      some >= n ? write(Whole<T>()) : write(Front<T>(some));
    }
  }
}

template <class T, int Rows = kRows, class... Rest>
void multiply_rows(int64_t rows, const Rest&... rest) {
  if (rows == Rows) return multiply_panel<T, Rows>(rest...);
  if constexpr (Rows > 1) multiply_rows<T, Rows - 1>(rows, rest...);
}

// The units [begin, begin + count) of all groups of the weight.
template <class T>
struct UnitPanels {
  using Element = T;
  static constexpr int64_t kUnits = kCols<T>;

  const RecurrentSequence& s;
  int64_t begin, count;
  T* panels;

  // Elements of the panels, and of what a member of the team needs besides.
  static int64_t size(const RecurrentSequence& s) { return s.groups * s.k * kCols<T>; }
  static int64_t member_size(const RecurrentSequence&) { return 0; }
  // Before a phase: `memory` is the member's.
  static void prepare(const RecurrentSequence&, const RecurrentPhase&, T*) {}

  void pack() const {
    const T* weight = static_cast<const T*>(s.weight);
    for (int64_t group = 0; group < s.groups; ++group) {
      const int64_t column = group * s.hidden + begin;
      const int64_t readable =
          (s.k - 1) * s.weight_row + (s.groups * s.hidden - 1 - column) * s.weight_col + 1;
      cpu::pack<T, kCols<T>>(panels + group * s.k * kCols<T>, weight + column * s.weight_col,
                             s.weight_row, s.weight_col, s.k, count, readable);
    }
  }

  void multiply(const RecurrentPhase& phase, const T*) const {
    for (const RecurrentProduct& p : phase.products) multiply(p);
  }

 private:
  void multiply(const RecurrentProduct& p) const {
    const int64_t tiles = blocks(p.rows, kRows), width = s.groups * s.hidden;
    for (int64_t group = 0; group < s.groups; ++group) {
      const int64_t column = group * s.hidden + begin;
      const T *a = static_cast<const T*>(p.a), *panel = panels + group * s.k * kCols<T>;
      const T* bias = static_cast<const T*>(s.bias);
      for (int64_t at = 0; at < s.k; at += kPanelDepth) {
        const int64_t depth = smaller(kPanelDepth, s.k - at);
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t row = p.rows * tile / tiles, end = p.rows * (tile + 1) / tiles;
          multiply_rows<T>(end - row, a + row * s.k + at, s.k, panel + at * kCols<T>, depth,
                           static_cast<T*>(p.c) + row * width + column, width, count,
                           s.accumulate || at > 0,
                           bias && at + depth == s.k ? bias + column : nullptr);
        }
      }
    }
  }
};

// Calls body(member, members) on so many threads, or fewer. What is computed must not depend on
// their number, and `body` must not throw.
template <class Body>
void with_team(int threads, const Body& body) {
  if (threads <= 1) return body(int64_t{0}, int64_t{1});
#pragma omp parallel num_threads(threads)
  body(omp_get_thread_num(), omp_get_num_threads());
}

// Returns when every member has called it.
inline void wait_for_team() {
#pragma omp barrier
}

// Multiply-adds of a phase that are worth a second thread.
constexpr double kTeamWork = 64 * 1024;

// Takes a step of the units [begin, end).
using StepOfUnits = void(const RecurrentStep&, int64_t begin, int64_t end);

template <class Panels>
void run_phases(const RecurrentSequence& s, StepOfUnits& step) {
  using T = typename Panels::Element;
  constexpr int64_t kUnits = Panels::kUnits;
  if (!s.weight) {
    for (int64_t i = 0; i < s.count; ++i) step(s.phases[i].step, 0, s.hidden);
    return;
  }
  int64_t stop = s.count;  // the phase before which all members end
  const bool stoppable = !is_team_member();
  const int64_t parts = blocks(s.hidden, kUnits), size = Panels::size(s);
  double work = 0;
  for (int64_t i = 0; i < s.count; ++i)
    for (const RecurrentProduct& p : s.phases[i].products)
      work += double(p.rows) * double(s.hidden) * double(s.groups * s.k);
  const int64_t wanted = work > kTeamWork * double(s.count) ? num_threads() : 1;
  const int team = int(smaller(wanted, parts));
  const int64_t member_size = Panels::member_size(s);
  const Scratch<T> panels(parts * size + team * member_size);
  with_team(team, [&](int64_t member, int64_t members) {
    T* const memory = panels.data + parts * size + member * member_size;
    const int64_t first = parts * member / members, last = parts * (member + 1) / members;
    const auto units = [&](int64_t part) {
      const int64_t begin = part * kUnits;
      return Panels{s, begin, smaller(kUnits, s.hidden - begin), panels.data + part * size};
    };
    for (int64_t part = first; part < last; ++part) units(part).pack();
    for (int64_t i = 0; i < s.count; ++i) {
      if (i > 0) {
        if (member == 0 && stoppable && interrupt_pending())
          __atomic_store_n(&stop, i, __ATOMIC_RELAXED);
        wait_for_team();
        if (i >= __atomic_load_n(&stop, __ATOMIC_RELAXED)) break;  // all here, at the same phase
      }
      Panels::prepare(s, s.phases[i], memory);
      for (int64_t part = first; part < last; ++part) {
        const Panels own = units(part);
        own.multiply(s.phases[i], memory);
        step(s.phases[i].step, own.begin, own.begin + own.count);
      }
    }
  });
  if (stop < s.count) throw_interrupted();
}

}  // namespace
}  // namespace tt::cpu
