// Threads: one parallel loop over [0, n), split into as many equal ranges as there are threads.
// Products of floats are cut into tasks instead, by their multiply-adds: tasks.h.
//
// What a kernel computes must not depend on where the ranges are cut (Note [Determinism]), so a
// body may only write what belongs to its own indices.
#pragma once
#include <cstdint>

#include "core/devices/threads.h"

namespace tt::cpu {

// Below this many elements of simple work, starting threads costs more than it saves.
constexpr int64_t kGrain = 32768;
// In place of a grain, where a call is not worth less for a shorter range.
constexpr int64_t kWhole = -1;

namespace {  // Note [No weak symbols]

// How many threads take n elements.
inline int64_t threads_for(int64_t n, int64_t grain) {
  const int64_t threads = n > grain ? num_threads() : 1;
  return n < threads ? n : threads;
}

// A loop over [0, n), which Ctrl-C may end. What takes long goes in pieces of its threads' ranges,
// between which the thread that called it looks whether it is to stop. A piece has no fewer than
// `at_once` elements, where the body takes so many together.
class Stoppable {
 public:
  Stoppable(int64_t n, int64_t grain, int64_t at_once = 1) {
    const int64_t least = grain > 1 ? kGrains * grain : kHeavy;
    const int64_t piece = least < at_once ? at_once : least;
    if (n > piece && grain != kWhole && !is_team_member()) piece_ = piece;
  }

  // One thread's range; the first thread is the caller.
  template <class Body>
  void run(int64_t begin, int64_t end, bool first, const Body& body) {
    if (begin >= end) return;
    do {
      const int64_t stop = end - begin > piece_ ? begin + piece_ : end;
      body(begin, stop);
      begin = stop;
    } while (begin < end && !stops(first));
  }

  void finish() const {
    if (stopped_) throw_interrupted();
  }

 private:
  static constexpr int64_t kGrains = 256, kHeavy = 4;

  bool stops(bool first) {
    if (first && interrupt_pending()) __atomic_store_n(&stopped_, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&stopped_, __ATOMIC_RELAXED);
  }

  int64_t piece_ = INT64_MAX;
  bool stopped_ = false;
};

}  // namespace

// Calls body(begin, end) over ranges that cover [0, n); serial when n is at most `grain`. With
// kWhole for a grain, one call per thread, however long that takes. `body` must not throw.
template <class Body>
void parallel_for(int64_t n, int64_t grain, const Body& body) {
  const int threads = static_cast<int>(threads_for(n, grain));
  Stoppable loop(n, grain);
  if (threads <= 1) {
    loop.run(0, n, true, body);
  } else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      loop.run(n * t / threads, n * (t + 1) / threads, t == 0, body);
  }
  loop.finish();
}

}  // namespace tt::cpu
