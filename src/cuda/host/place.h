// From an address in a kernel to the line of its source.
#pragma once
#include <string>

namespace tt::emulated {

// " (at kernel.cu:12)" for the address that a call returns to; where addr2line does not tell,
// " (at library+0x1234)".
std::string place_of(void* return_address);

}  // namespace tt::emulated
