// Faults that kernels have found (infra/faults.h), told by whoever waits for the device.
#pragma once
#include "cuda/infra/faults.h"

namespace tt::cuda {

// After a wait: throws RuntimeError if a kernel has found a fault that nobody was told of.
void tell_faults();

}  // namespace tt::cuda
