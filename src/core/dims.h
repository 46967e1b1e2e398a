// Dims: a shape, or strides in elements. A fixed buffer, so that arrays are made without malloc.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "core/error.h"

namespace tt {

constexpr int kMaxDims = 24;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t value : values) push_back(value);
  }
  Dims(int size, int64_t value) {
    for (int i = 0; i < size; ++i) push_back(value);
  }
  Dims(const Dims& other) { *this = other; }
  Dims& operator=(const Dims& other) {
    size_ = other.size_;
    // The usual few dims at once, without a call; what is beyond size_ is never read.
    __builtin_memcpy(data_, other.data_, kFew * sizeof(int64_t));
    if (size_ > kFew) std::copy(other.data_ + kFew, other.data_ + size_, data_ + kFew);
    return *this;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](int i) { return data_[i]; }
  int64_t operator[](int i) const { return data_[i]; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t back() const { return data_[size_ - 1]; }

  void push_back(int64_t value) {
    if (size_ == kMaxDims)
      throw RuntimeError("tiny_torch arrays have at most ", kMaxDims, " dimensions");
    data_[size_++] = value;
  }
  void erase(int i) {
    std::copy(data_ + i + 1, data_ + size_, data_ + i);
    --size_;
  }
  void insert(int i, int64_t value) {
    push_back(value);
    std::rotate(data_ + i, data_ + size_ - 1, data_ + size_);
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.data_[i] != b.data_[i]) return false;
    return true;
  }
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Dims& dims) {
    out << '[';
    for (int i = 0; i < dims.size_; ++i) out << (i ? ", " : "") << dims.data_[i];
    return out << ']';
  }

 private:
  static constexpr int kFew = 4;
  int size_ = 0;
  int64_t data_[kMaxDims];
};

// a * b and a + b of sizes that a caller gives; RuntimeError where an int64 cannot hold them.
inline int64_t checked_mul(int64_t a, int64_t b, const char* op) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    throw RuntimeError("[", op, "] the product of the sizes ", a, " and ", b, " overflows");
  return product;
}
inline int64_t checked_add(int64_t a, int64_t b, const char* op) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    throw RuntimeError("[", op, "] the sum of the sizes ", a, " and ", b, " overflows");
  return sum;
}
// a / b rounded up, for a >= 0 and b > 0.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
// How far a window of `taps`, `dilation` apart, can move over `size` elements and the padding at
// both ends: negative where it does not fit.
int64_t window_room(int64_t size, int64_t padding, int64_t dilation, int64_t taps, const char* op);

// Elements of an array's shape; checked_numel: of any, throws where a size is negative or the
// product overflows.
inline int64_t product(const Dims& shape) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  return numel;
}
int64_t checked_numel(const Dims& shape, const char* op);
// Row-major strides; dims of size 0 count as 1, as in PyTorch.
Dims contiguous_strides(const Dims& shape);
// -ndim <= dim < ndim (a 0-d array is taken as 1-d); answers dim >= 0 or throws IndexError.
int wrap_dim(int64_t dim, int ndim);
// The shape that operands broadcast to. Throws RuntimeError as PyTorch does.
Dims broadcast(const Dims& a, const Dims& b);

}  // namespace tt
