// A dtype as PyTorch's messages call it.
#pragma once

#include "core/dtype.h"

namespace tt {

// "Long" for int64.
constexpr const char* type_name(DType dtype) {
  constexpr const char* names[] = {"Bool", "Byte", "Char",     "Short", "Int",
                                   "Long", "Half", "BFloat16", "Float", "Double"};
  return names[static_cast<int>(dtype)];
}

// "long int" for int64: C++'s own name.
constexpr const char* cpp_name(DType dtype) {
  constexpr const char* names[] = {"bool",  "unsigned char", "signed char", "short int",
                                   "int",   "long int",      "c10::Half",   "c10::BFloat16",
                                   "float", "double"};
  return names[static_cast<int>(dtype)];
}

}  // namespace tt
