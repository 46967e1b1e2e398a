#include "core/devices/threads.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "core/devices/gil.h"
#include "core/devices/launch_listener.h"
#include "core/error.h"

namespace tt {

namespace {

std::atomic<int> chosen{0};  // 0: not set
thread_local bool asked = false;
// libgomp's pool does not survive a fork: a child that used it would hang.
std::atomic<bool> forked{false};

const bool watching = [] {
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return true;
}();

std::atomic<int64_t> looked{0};  // when, in milliseconds
constexpr int64_t kPause = 50;

}  // namespace

int num_threads() {
  asked = true;
  if (forked.load(std::memory_order_relaxed) || !watching) return 1;
  const int n = chosen.load(std::memory_order_relaxed);
  return n > 0 ? n : omp_get_max_threads();
}

bool has_asked_for_threads() { return std::exchange(asked, false); }

void set_num_threads(int n) {
  if (n < 1) throw RuntimeError("set_num_threads expects a positive integer");
  chosen = n;
}

void throw_interrupted() { throw Interrupted(); }

bool interrupt_pending() {
  using std::chrono::duration_cast;
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t now = duration_cast<std::chrono::milliseconds>(since).count();
  if (now - looked.load(std::memory_order_relaxed) < kPause) return false;
  looked.store(now, std::memory_order_relaxed);
  return gil_hooks.interrupted && gil_hooks.interrupted();
}

bool is_team_member() { return omp_in_parallel(); }

void check_interrupt() {
  if (!is_team_member() && interrupt_pending()) throw_interrupted();
}

}  // namespace tt
