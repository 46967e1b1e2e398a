// From the size of an element to code that moves such.
#pragma once
#include <cstdint>

namespace tt::cuda {
namespace {

// Calls body(T{}) with an unsigned integer as wide as an element: enough to move it.
template <class Body>
void by_size(int64_t size, Body&& body) {
  switch (size) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

}  // namespace
}  // namespace tt::cuda
