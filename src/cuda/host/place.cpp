#include "cuda/host/place.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace tt::emulated {

// By addr2line, which comes with the compiler. Of a chain of inlined functions it is the first that
// is not this folder's own.
std::string place_of(void* return_address) {
  Dl_info module;
  if (!return_address || !dladdr(return_address, &module) || !module.dli_fname) return {};
  const size_t offset =
      static_cast<char*>(return_address) - static_cast<char*>(module.dli_fbase) - 1;
  const std::string command = format("addr2line -i -e '", module.dli_fname, "' ", std::hex,
                                     std::showbase, offset, " 2>/dev/null");
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(popen(command.c_str(), "r"), pclose);
  char line[4096];
  while (answer && std::fgets(line, sizeof line, answer.get())) {
    line[std::strcspn(line, "\n (")] = 0;  // "... (discriminator 2)"
    if (line[0] == '?' || std::strstr(line, "cuda/host/")) continue;
    const char* const name = std::strrchr(line, '/');
    return format(" (at ", name ? name + 1 : line, ")");
  }
  return format(" (at ", module.dli_fname, "+", std::hex, std::showbase, offset, ")");
}

}  // namespace tt::emulated
