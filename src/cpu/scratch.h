// Scratch memory, and parallel loops whose threads need some of their own.
#pragma once
#include "cpu/gemm.h"
#include "cpu/parallel.h"

namespace tt::cpu {

// n elements, not initialised.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : data_(static_cast<T*>(scratch_acquire(n * static_cast<int64_t>(sizeof(T))))) {}
  ~Scratch() { scratch_release(data_); }
  Scratch(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

// As parallel_for, calling body(begin, end, memory) with `bytes` of memory per thread.
template <class Body>
void parallel_with_scratch(int64_t n, int64_t grain, int64_t bytes, const Body& body) {
  const int64_t threads = n > grain ? (n < num_threads() ? n : num_threads()) : 1;
  char* scratch = bytes ? static_cast<char*>(scratch_acquire(threads * bytes)) : nullptr;
  parallel_for(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t)
      body(n * t / threads, n * (t + 1) / threads, scratch + t * bytes);
  });
  if (scratch) scratch_release(scratch);
}

}  // namespace tt::cpu
