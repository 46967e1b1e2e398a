// What a kernel is called in messages.
#pragma once
#include <cstring>
#include <string>

namespace tt::cuda {

// "softmax<float>" of launch's __PRETTY_FUNCTION__, "... [with auto kernel =
// {anonymous}::softmax<float>; ...]". By nvcc the namespace is called _GLOBAL__N__ and a number.
inline std::string kernel_name(const char* launch) {
  std::string name = launch;
  for (const char* before : {"kernel = ", "(& "}) {
    const size_t at = name.find(before);
    if (at != std::string::npos) name = name.substr(at + std::strlen(before));
  }
  name = name.substr(0, name.find_first_of(";]"));
  for (const char* space :
       {"tt::cuda::", "{anonymous}::", "(anonymous namespace)::", "_GLOBAL__N__"})
    for (size_t at; (at = name.find(space)) != std::string::npos;)
      name.erase(at, name.find("::", at + std::strlen(space) - 2) - at + 2);
  return name;
}

}  // namespace tt::cuda
