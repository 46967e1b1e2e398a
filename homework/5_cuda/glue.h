// What stands between call.py and a student's kernels: TASK(parameters) { launches }. It becomes
// the function `run` of the library, which tiny_torch/homework/cuda.py calls: its arrays are in the
// device's memory, and it answers what the emulator has found, or "".
#pragma once
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "cuda/cuda.h"

using tt::cuda::launch;

// ---- what nvcc knows without a header -----------------------------------------------------------
namespace {

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace

// ---- counts of the last call --------------------------------------------------------------------
extern "C" {
__attribute__((visibility("default"))) int64_t global_bytes_read, products;
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
  return fault.c_str();
}

}  // namespace
}  // namespace glue

#define TASK(...) extern "C" __attribute__((visibility("default"))) const char* run(__VA_ARGS__)
