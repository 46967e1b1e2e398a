// What runtime.cu and graphs.cu share: numbers on the device, and what cases say.
#pragma once
#include <cstdio>
#include <exception>
#include <vector>

#include "cuda/device/allocator.h"
#include "cuda/device/copies.h"
#include "cuda/device/errors.h"
#include "cuda/device/graphs.h"
#include "cuda/device/pinned.h"
#include "cuda/device/streams.h"

extern "C" uint64_t tiny_torch_emulator_calls(const char* function);  // cuda/host/queues.cpp

struct Case {
  const char* name;
  void (*run)();
};
#define CASE(name) {#name, name}
std::vector<Case> cases_of_graphs();  // graphs.cu

namespace {

using namespace tt::cuda;

__global__ void put(int* to, int value) { *to = value; }
__global__ void increase(int* to, int by) { *to += by; }
__global__ void add(int* to, const int* by) { *to += *by; }

Allocator& memory() { return Allocator::instance(); }

struct Number {
  int* at = static_cast<int*>(memory().allocate(sizeof(int)));

  Number() { launch<put>({1, 1}, at, 0); }
  int value() const {
    int value;
    copy_to_host(&value, at, sizeof value);
    return value;
  }
};

void say(const char* what, int64_t number) {
  std::printf("%s %lld\n", what, static_cast<long long>(number));
}
template <class F>
void say_error(F body) {
  try {
    body();
    std::puts("no error");
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
}

cudaEvent_t recorded() {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault));
  check(cudaEventRecord(event, current_stream));
  return event;
}

// A stream that the calling thread uses from now on.
int64_t enter_stream() {
  const int64_t stream = new_stream(0);
  set_stream(stream);
  return stream;
}

}  // namespace
