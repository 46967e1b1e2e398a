// Sums of halves that are rounded once: floats that stand for the elements of x meanwhile. What is
// added to is fetched first and rounded at the end, however often that is done; floats of what is
// not are never touched, and so take no memory.
#pragma once
#include "core/dtypes/with_type.h"
#include "cpu/infra/run.h"

namespace tt::cpu {
namespace {  // Note [No weak symbols]

// f(first, count, floats): n elements of T as floats, a part at a time.
template <class T, class F>
void for_floats(const char* from, int64_t n, int64_t step, const F& f) {
  constexpr int64_t kPart = 256, item = sizeof(T);
  const Loop convert = conversion(dtype_of<T>(), DType::Float32);
  float part[kPart];
  for (int64_t i = 0; i < n; i += kPart) {
    const int64_t count = n - i < kPart ? n - i : kPart;
    convert_line(convert, reinterpret_cast<char*>(part), sizeof(float), from + i * step * item,
                 step * item, count);
    f(i, count, static_cast<const float*>(part));
  }
}

template <class T>
class FloatSums {
 public:
  // floats[i] stands for the element i of x.
  FloatSums(const char* x, float* floats) : x_(x), floats_(floats) {}

  float& of(const char* at) const { return floats_[(at - x_) / kItem]; }
  // n elements of x, `step` apart.
  void fetch(const char* at, int64_t n, int64_t step) const {
    convert_line(conversion(dtype_of<T>(), DType::Float32), reinterpret_cast<char*>(&of(at)),
                 step * kFloat, at, step * kItem, n);
  }
  void round(char* at, int64_t n, int64_t step) const {
    convert_line(conversion(DType::Float32, dtype_of<T>()), at, step * kItem,
                 reinterpret_cast<const char*>(&of(at)), step * kFloat, n);
  }

 private:
  static constexpr int64_t kItem = sizeof(T), kFloat = sizeof(float);
  const char* x_;
  float* floats_;
};

}  // namespace
}  // namespace tt::cpu
