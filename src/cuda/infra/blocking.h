// Whether the host waits for each kernel, as CUDA_LAUNCH_BLOCKING=1 asks for.
#pragma once
#include <cstdlib>
#include <cstring>

namespace tt::cuda {

inline bool are_launches_blocking() {
  static const bool answer = [] {
    const char* const set = std::getenv("CUDA_LAUNCH_BLOCKING");
    return set && std::strcmp(set, "1") == 0;
  }();
  return answer;
}

}  // namespace tt::cuda
