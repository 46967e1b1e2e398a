// Faults that kernels have found (infra/faults.h), thrown where the host waits for the device.
#pragma once
#include "cuda/infra/faults.h"

namespace tt::cuda {

// After a wait: throws RuntimeError if a kernel has found a fault that was not thrown yet.
void tell_faults();

}  // namespace tt::cuda
