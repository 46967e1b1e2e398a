// What is asked before memory that exists is written: `check_writable` does, and who writes
// without.
#pragma once

namespace tt {

class NDArray;

// Copies what has to outlive the write; autograd/kept.cpp's.
inline void (*copy_kept)(const NDArray& written) = nullptr;
inline void before_write(const NDArray& x) {
  if (copy_kept) copy_kept(x);
}

}  // namespace tt
