// Scratch memory, and parallel loops whose threads need some of their own.
#pragma once
#include <cstddef>

#include "cpu/infra/parallel.h"

namespace tt::cpu {

// Memory for packed panels, 64-byte aligned; acquire may throw, and is called outside of parallel
// loops only.
void* scratch_acquire(size_t bytes);
void scratch_release(void* block);

namespace {  // Note [No weak symbols]

// `count` elements, not initialised; null where there are none.
template <class T>
struct Scratch {
  T* const data;
  explicit Scratch(int64_t count)
      : data(count ? static_cast<T*>(scratch_acquire(static_cast<size_t>(count) * sizeof(T)))
                   : nullptr) {}
  ~Scratch() {
    if (data) scratch_release(data);
  }
  Scratch(const Scratch&) = delete;
};

// As parallel_for, calling body(begin, end, memory) with `bytes` of memory per thread, which may
// serve for so many elements at once.
template <class Body>
void parallel_with_scratch(int64_t n, int64_t grain, int64_t bytes, const Body& body,
                           int64_t at_once = 1) {
  const int64_t threads = threads_for(n, grain);
  const Scratch<char> scratch(threads * bytes);
  Stoppable loop(n, grain, at_once);
  parallel_for(threads, kWhole, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t)
      loop.run(n * t / threads, n * (t + 1) / threads, t == 0,
               [&](int64_t begin, int64_t end) { body(begin, end, scratch.data + t * bytes); });
  });
  loop.finish();
}

}  // namespace

}  // namespace tt::cpu
