// Cutting the work of products into tasks, for the files that are built once per instruction set.
#pragma once
#include <cstdint>

#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

// Multiply-adds that are worth a second thread.
constexpr double kParallelWork = 256 * 1024;

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }
inline int64_t round_up(int64_t size, int64_t block) { return blocks(size, block) * block; }

// Calls task(index, worker) for every index; which worker takes which is left to chance.
template <class Task>
void run_tasks(int64_t count, int workers, const Task& task) {
  if (workers == 1 || count == 1) {
    for (int64_t index = 0; index < count; ++index) {
      task(index, 0);
      if (index % 8 == 7) check_interrupt();
    }
    return;
  }
  int64_t next = 0;
  const bool stoppable = !is_team_member();
  bool stopped = false;
  parallel_for(workers, kWhole, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (;;) {
        const int64_t index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        if (index >= count) break;
        task(index, worker);
        if (worker == 0 && stoppable && interrupt_pending()) {
          stopped = true;
          __atomic_store_n(&next, count, __ATOMIC_RELAXED);
        }
      }
    }
  });
  if (stopped) throw_interrupted();
}

}  // namespace
}  // namespace tt::cpu
