#include "core/threads.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>

#include "core/error.h"

namespace tt {

namespace {

std::atomic<int> chosen{0};  // 0: not set
// libgomp's pool does not survive a fork: a child that used it would hang.
std::atomic<bool> forked{false};

const bool watching = [] {
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return true;
}();

}  // namespace

int num_threads() {
  if (forked.load(std::memory_order_relaxed) || !watching) return 1;
  const int n = chosen.load(std::memory_order_relaxed);
  return n > 0 ? n : omp_get_max_threads();
}

void set_num_threads(int n) {
  if (n < 1) throw RuntimeError("set_num_threads expects a positive integer");
  chosen = n;
}

}  // namespace tt
