// The device `twin`: the CPU's kernels over memory that nobody else can reach. Outside of launches
// and copies it may be neither read nor written, so that host code that touches an element dies.
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "core/devices/backend.h"
#include "core/devices/device.h"

namespace {

constexpr size_t kSpace = size_t{1} << 36, kAlign = 64;

struct Memory {
  std::mutex mutex;
  char* const space = static_cast<char*>(
      mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  size_t used = 0;
  std::map<size_t, std::vector<char*>> idle;  // by size
  int open = 0;                               // launches that run

  void* allocate(size_t bytes) {
    const std::lock_guard lock(mutex);
    const size_t size = (bytes + kAlign) / kAlign * kAlign;
    if (auto found = idle.find(size); found != idle.end() && !found->second.empty()) {
      char* const block = found->second.back();
      found->second.pop_back();
      return block;
    }
    char* const block = space + used;
    used += size;
    if (open) protect(PROT_READ | PROT_WRITE);
    return block;
  }
  void release(void* block, size_t bytes) {
    const std::lock_guard lock(mutex);
    idle[(bytes + kAlign) / kAlign * kAlign].push_back(static_cast<char*>(block));
  }
  void begin() {
    const std::lock_guard lock(mutex);
    if (open++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void end() {
    const std::lock_guard lock(mutex);
    if (--open == 0) protect(PROT_NONE);
  }

 private:
  void protect(int how) {
    if (used) mprotect(space, (used + 4095) / 4096 * 4096, how);
  }
};

Memory& memory() {
  static Memory all;
  return all;
}

void copy(void* to, const void* from, size_t bytes) {
  memory().begin();
  if (bytes) std::memcpy(to, from, bytes);
  memory().end();
}

const tt::Device* make(const tt::Device& cpu) {
  static tt::Backend backend = *cpu.backend;
  backend.name = "twin";
  static const tt::Device device{"twin",
                                 &backend,
                                 [](size_t bytes) { return memory().allocate(bytes); },
                                 [](void* block, size_t bytes) { memory().release(block, bytes); },
                                 copy,
                                 copy,
                                 copy,
                                 [] { memory().begin(); },
                                 [] { memory().end(); }};
  return &device;
}

}  // namespace

TT_DEVICE(make);
