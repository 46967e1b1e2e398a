// From a dtype to code for its C++ type.
#pragma once
#include <type_traits>

#include "core/dtype.h"

namespace tt {

// Calls body(T{}) with the dtype's C++ type.
template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    body(type{});                     \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

}  // namespace tt
