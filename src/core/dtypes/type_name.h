// A dtype as PyTorch's messages call it, and the messages that stand in many places.
#pragma once
#include <iterator>

#include "core/dims.h"
#include "core/dtypes/dtype.h"

namespace tt {

// "Long" for int64.
constexpr const char* type_name(DType dtype) {
  constexpr const char* names[] = {"Bool", "Byte", "Char",     "Short", "Int",
                                   "Long", "Half", "BFloat16", "Float", "Double"};
  static_assert(std::size(names) == kDTypes);
  return names[static_cast<int>(dtype)];
}

// "long int" for int64: C++'s own name.
constexpr const char* cpp_name(DType dtype) {
  constexpr const char* names[] = {"bool",  "unsigned char", "signed char", "short int",
                                   "int",   "long int",      "c10::Half",   "c10::BFloat16",
                                   "float", "double"};
  static_assert(std::size(names) == kDTypes);
  return names[static_cast<int>(dtype)];
}

// What PyTorch raises where a kernel does not know the dtype.
template <class Kernel>
NotImplementedError not_implemented(const Kernel& kernel, DType dtype) {
  return NotImplementedError("\"", kernel, "_cpu\" not implemented for '", type_name(dtype), "'");
}

template <class Kernel>
void check_floating(const Kernel& kernel, DType dtype) {
  if (!is_floating(dtype)) throw not_implemented(kernel, dtype);
}

// Where no elements have no answer along a dim.
inline void check_size(const char* op, int dim, const Dims& shape) {
  if (shape[dim] == 0)
    throw IndexError(op, "(): Expected reduction dim ", dim, " to have non-zero size. (shape ",
                     shape, ")");
}

}  // namespace tt
