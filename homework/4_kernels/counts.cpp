// Adds up the bytes that a student's kernel reads and writes: the compiler calls this at each
// access of memory (-fsanitize=kernel-address). The kernel is an object of its own, which cannot
// name these.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

ENTRY double bytes_of_memory = 0;  // a call with any size makes it larger

namespace {

void count(const void* at, size_t bytes) {
  const auto ours = reinterpret_cast<uintptr_t>(&bytes_of_memory);
  const auto first = reinterpret_cast<uintptr_t>(at);
  if (first < ours + sizeof(double) && ours < first + bytes) std::abort();
  bytes_of_memory += static_cast<double>(bytes);
}

}  // namespace

#define COUNTED(bytes)                                                         \
  extern "C" void __asan_load##bytes##_noabort(void* at) { count(at, bytes); } \
  extern "C" void __asan_store##bytes##_noabort(void* at) { count(at, bytes); }
COUNTED(1)
COUNTED(2)
COUNTED(4)
COUNTED(8)
COUNTED(16)
extern "C" void __asan_loadN_noabort(void* at, size_t bytes) { count(at, bytes); }
extern "C" void __asan_storeN_noabort(void* at, size_t bytes) { count(at, bytes); }
extern "C" void __asan_handle_no_return() {}

// ---- what a kernel calls by these names ---------------------------------------------------------

extern "C" void* memmove(void* to, const void* from, size_t size) {
  count(to, size);
  count(from, size);
  char* const left = static_cast<char*>(to);
  const char* const right = static_cast<const char*>(from);
  const bool is_before = left <= right;
  for (size_t k = 0; k < size; ++k) {
    const size_t i = is_before ? k : size - 1 - k;
    left[i] = right[i];
  }
  return to;
}
extern "C" void* memcpy(void* to, const void* from, size_t size) { return memmove(to, from, size); }
extern "C" void* memset(void* to, int byte, size_t size) {
  count(to, size);
  for (size_t k = 0; k < size; ++k) static_cast<char*>(to)[k] = static_cast<char>(byte);
  return to;
}
