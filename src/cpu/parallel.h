// Threads: one parallel loop over [0, n), split into as many equal ranges as there are threads.
//
// What a kernel computes must not depend on where the ranges are cut (Note [Determinism]), so a
// body may only write what belongs to its own indices.
#pragma once
#include <cstdint>

#include "core/threads.h"

namespace tt::cpu {

// Below this many elements of simple work, starting threads costs more than it saves.
constexpr int64_t kGrain = 32768;

namespace {  // Note [No weak symbols]

// How many threads take n elements.
inline int64_t threads_for(int64_t n, int64_t grain) {
  const int64_t threads = n > grain ? num_threads() : 1;
  return n < threads ? n : threads;
}

}  // namespace

// Calls body(begin, end) over ranges that cover [0, n); serial when n is at most `grain`.
// `body` must not throw.
template <class Body>
void parallel_for(int64_t n, int64_t grain, const Body& body) {
  const int threads = static_cast<int>(threads_for(n, grain));
  if (threads <= 1) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) body(n * t / threads, n * (t + 1) / threads);
}

}  // namespace tt::cpu
