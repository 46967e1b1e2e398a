// The exceptions that C++ throws; bindings/ maps each to the Python class of the same name.
//
// Messages start with the op in brackets and say what was seen and what was expected:
//   throw RuntimeError("[matmul] inner dimensions differ: ", a.shape(), " @ ", b.shape());
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace tt {

template <class... Parts>
std::string format(const Parts&... parts) {
  std::ostringstream out;
  out << std::boolalpha;
  (out << ... << parts);
  return out.str();
}

struct Error : std::runtime_error {
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(format(parts...)) {}
};

struct RuntimeError : Error {
  using Error::Error;
};
struct OutOfMemoryError : RuntimeError {  // of an accelerator
  using RuntimeError::RuntimeError;
};
struct ValueError : Error {
  using Error::Error;
};
struct TypeError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct NotImplementedError : Error {
  using Error::Error;
};

}  // namespace tt
