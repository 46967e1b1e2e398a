// What stands between call.py and a student's kernels: TASK(parameters) { launches }. It becomes
// the function `run` of the library, which tiny_torch/tools/homework/cuda.py calls: its arrays are
// in the device's memory, and it answers what the emulator has found, or "". The kernels are in an
// object of their own, and declared before.
#pragma once
#include <string.h>  // first: memcpy stands for the compiler's own

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "cuda/cuda.h"

#undef __global__
#define __global__  // of another object

using tt::cuda::Grid;
using tt::cuda::launch;

// ---- what kernels call by these names: the emulator sees each access ----------------------------
// An attribute would come too late: libc's headers have declared them.
asm(".hidden memcpy, memmove, memset, printf");

extern "C" void* memmove(void* to, const void* from, size_t count) noexcept {
  char* const left = static_cast<char*>(to);
  const char* const right = static_cast<const char*>(from);
  const bool is_before = left <= right;
  for (size_t k = 0; k < count; ++k) {
    const size_t i = is_before ? k : count - 1 - k;
    left[i] = right[i];
  }
  return to;
}
extern "C" void* memcpy(void* to, const void* from, size_t count) noexcept {
  return memmove(to, from, count);
}
extern "C" void* memset(void* to, int byte, size_t count) noexcept {
  for (size_t k = 0; k < count; ++k) static_cast<char*>(to)[k] = static_cast<char>(byte);
  return to;
}
// Prints nothing where it would write, by %n.
extern "C" int printf(const char* text, ...) {
  for (const char* at = std::strchr(text, '%'); at; at = std::strchr(at, '%')) {
    at += 1 + std::strspn(at + 1, "-+ #0123456789.*'hlLqjzt");
    if (*at == 'n') return -1;
    if (*at) ++at;
  }
  std::va_list values;
  va_start(values, text);
  const int count = std::vprintf(text, values);
  va_end(values);
  return count;
}

// ---- counts of the last call --------------------------------------------------------------------
extern "C" {
__attribute__((visibility("default"))) int64_t global_bytes_read, products, bytes_of_a_thread;
__attribute__((visibility("default"))) double sum_of_products;
}

namespace glue {
namespace {

// The blocks of `size` that hold n.
unsigned blocks_of(int n, int size) { return (n + size - 1) / size; }

std::string fault;

template <class Launches>
const char* fault_of(Launches launches) {
  fault.clear();
  tt::emulated::counts = {};
  try {
    launches();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  std::fflush(stdout);  // what kernels have printed: nobody else does when the process is ended
  global_bytes_read = tt::emulated::counts.global_bytes_read;
  products = tt::emulated::counts.products;
  bytes_of_a_thread = tt::emulated::counts.bytes_of_a_thread;
  sum_of_products = tt::emulated::counts.sum_of_products;
  return fault.c_str();
}

}  // namespace
}  // namespace glue

#define TASK(...) extern "C" __attribute__((visibility("default"))) const char* run(__VA_ARGS__)
