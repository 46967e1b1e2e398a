// Division by a number that is known before a kernel starts, in three instructions, where a GPU
// needs some twenty for one that is not (Granlund and Montgomery 1994).
#pragma once
#include "cuda/cuda.h"

namespace tt::cuda {
namespace {

// 1 <= divisor < 2^31; what is divided lies in [0, 2^31).
class Divisor {
 public:
  explicit Divisor(int64_t divisor) : divisor_(static_cast<unsigned>(divisor)), shift_(0) {
    while (int64_t{1} << shift_ < divisor) ++shift_;
    const uint64_t rest = (uint64_t{1} << shift_) - divisor_;
    factor_ = static_cast<unsigned>((rest << 32) / divisor_ + 1);
  }
  __device__ int quotient(int x) const { return (__umulhi(x, factor_) + x) >> shift_; }
  // Takes the last dim, of which the divisor is the size, off a position.
  __device__ int next_dim(int& position) const {
    const int before = position;
    position = quotient(position);
    return before - position * static_cast<int>(divisor_);
  }

 private:
  unsigned divisor_, factor_;
  int shift_;
};

// For any numbers; fast where both are below 2^31.
class WideDivisor {
 public:
  explicit WideDivisor(int64_t divisor)
      : divisor_(divisor), fast_(divisor > 0 && divisor <= INT32_MAX ? divisor : 1) {}

  __device__ int64_t quotient(int64_t x) const {
    if (divisor_ <= INT32_MAX && x <= INT32_MAX) return fast_.quotient(static_cast<int>(x));
    return x / divisor_;
  }
  __device__ int64_t rest(int64_t x) const { return x - quotient(x) * divisor_; }

 private:
  int64_t divisor_;
  Divisor fast_;
};

}  // namespace
}  // namespace tt::cuda
