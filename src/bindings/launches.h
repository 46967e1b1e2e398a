// The names of kernels.
#pragma once
#include <pybind11/pybind11.h>

#include <vector>

#include "core/devices/override.h"

namespace tt::py {

// (family, name, dtype) of a kernel: None for the dtype, or all, where several entries have it.
pybind11::tuple kernel_name(const std::vector<KernelSlot>& slots, void (*kernel)());

}  // namespace tt::py
