#include "core/dtypes/promote.h"

#include <atomic>

#include "core/error.h"

namespace tt {

namespace {
std::atomic<DType> current{DType::Float32};
}

DType default_dtype() { return current.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  if (!is_floating(dtype))
    throw TypeError("only floating-point types are supported as the default type");
  current = dtype;
}

}  // namespace tt
