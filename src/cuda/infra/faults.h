// What kernels that look for a fault, such as an index outside, tell the host.
//
// Nobody waits for that: a kernel leaves it in memory of the host, and whoever waits next for the
// device, for whatever reason, throws it (device/faults.h). So a kernel that reads an index must do
// no harm with one outside. Under CUDA_LAUNCH_BLOCKING=1 the call itself waits, and its error says
// what the CPU's says.
#pragma once
#include <cstdint>

#include "cuda/cuda.h"

namespace tt::cuda {

// Which calls look, by the names that users know them by.
enum class Check { Gather, Scatter, Index, Classes, CtcLabels, Bags };
constexpr int kChecks = 6;

// The last one that a thread has found.
struct Fault {
  int64_t index, size;
  int32_t is_there;
};

class Faults {
 public:
  explicit Faults(Check check);
  Fault* found() const { return found_; }
  // False only where the call has waited for its kernels.
  bool none() const;

 private:
  Fault* const found_;
};

namespace {

__device__ bool is_inside(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size);
}
__device__ void tell(Fault* fault, int64_t index, int64_t size) {
  fault->index = index;
  fault->size = size;
  fault->is_there = 1;
}

}  // namespace
}  // namespace tt::cuda
