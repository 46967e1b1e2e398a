// What a kernel is called in messages.
#pragma once
#include <cstring>
#include <string>

namespace tt::cuda {

// "softmax<float>" of launch's __PRETTY_FUNCTION__,
// "... [with auto kernel = {anonymous}::softmax<float>; ...]".
inline std::string kernel_name(const char* launch) {
  std::string name = launch;
  for (const char* before :
       {"kernel = ", "{anonymous}::", "(anonymous namespace)::", "_NV_ANON_NAMESPACE::", "(& "}) {
    const size_t at = name.find(before);
    if (at != std::string::npos) name = name.substr(at + std::strlen(before));
  }
  return name.substr(0, name.find_first_of(";]"));
}

}  // namespace tt::cuda
