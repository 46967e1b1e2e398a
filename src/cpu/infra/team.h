// Threads that work side by side and wait for one another, where parallel_for's loops, one after
// another, would start them too often.
#pragma once
#include <omp.h>

#include <cstdint>

namespace tt::cpu {
namespace {

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

}  // namespace
}  // namespace tt::cpu
