// Copies between the host's memory and the device's, in the order of the current stream.
#pragma once
#include <cstddef>

#include "cuda/infra/scratch.h"

namespace tt::cuda {

void copy_on_device(void* to, const void* from, size_t bytes);
// Without waiting, from pinned memory, and to it: to other memory of the host it waits.
void copy_to_device_later(void* to, const void* from, size_t bytes);
void copy_to_host_later(void* to, const void* from, size_t bytes);

}  // namespace tt::cuda
