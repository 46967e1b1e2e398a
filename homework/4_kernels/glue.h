// What stands between a kernel of the framework and a student's function that has passed: dense
// memory, the framework's own where it lies so. The check of a task does without it (entry.cpp).
#pragma once
#include <limits>
#include <type_traits>
#include <vector>

#include "core/devices/override.h"
#include "core/dtypes/half.h"
#include "core/iter.h"
#include "core/lines.h"

namespace glue {

template <class T>
T get(const char* at, tt::DType dtype) {
  switch (dtype) {
    case tt::DType::Float16:
      return static_cast<T>(static_cast<float>(*reinterpret_cast<const tt::Half*>(at)));
    case tt::DType::BFloat16:
      return static_cast<T>(static_cast<float>(*reinterpret_cast<const tt::BFloat16*>(at)));
    case tt::DType::Float64:
      return static_cast<T>(*reinterpret_cast<const double*>(at));
    default:
      return static_cast<T>(*reinterpret_cast<const float*>(at));
  }
}
template <class T>
void set(char* at, tt::DType dtype, T value) {
  switch (dtype) {
    case tt::DType::Float16:
      *reinterpret_cast<tt::Half*>(at) = tt::Half(static_cast<float>(value));
      return;
    case tt::DType::BFloat16:
      *reinterpret_cast<tt::BFloat16*>(at) = tt::BFloat16(static_cast<float>(value));
      return;
    case tt::DType::Float64:
      *reinterpret_cast<double*>(at) = static_cast<double>(value);
      return;
    default:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
  }
}

// f(the first byte of this line, the line's elements in a dense array of lines).
template <class T, class F>
void for_each_line(const tt::Lines& lines, const tt::LineStream& stream, T* dense, F f) {
  for (int64_t line = 0; line < lines.count; ++line) {
    int64_t rest = line, offset = 0;
    for (int d = lines.shape.size() - 1; d >= 0; --d) {
      offset += rest % lines.shape[d] * stream.strides[d];
      rest /= lines.shape[d];
    }
    f(stream.data + offset, dense + line * lines.size);
  }
}

// The lines of a stream, (count, size), dense.
template <class T>
std::vector<T> gathered(const tt::Lines& lines, const tt::LineStream& from) {
  std::vector<T> dense(lines.count * lines.size);
  for_each_line(lines, from, dense.data(), [&](const char* at, T* line) {
    for (int64_t i = 0; i < lines.size; ++i) line[i] = get<T>(at + i * from.step, from.dtype);
  });
  return dense;
}
template <class T>
void scatter(const tt::Lines& lines, const tt::LineStream& to, const std::vector<T>& dense) {
  for_each_line(lines, to, dense.data(), [&](char* at, const T* line) {
    for (int64_t i = 0; i < lines.size; ++i) set<T>(at + i * to.step, to.dtype, line[i]);
  });
}

// Whether the lines of a stream are dense already, of T's dtype.
template <class T>
bool is_dense(const tt::Lines& lines, const tt::LineStream& stream) {
  const auto dtype = std::is_same_v<T, double> ? tt::DType::Float64 : tt::DType::Float32;
  int64_t step = sizeof(T);
  if (stream.dtype != dtype || (lines.size > 1 && stream.step != step)) return false;
  step *= lines.size;
  for (int d = lines.shape.size() - 1; d >= 0; step *= lines.shape[d--])
    if (lines.shape[d] > 1 && stream.strides[d] != step) return false;
  return true;
}

// f(the lines of stream 0, those of stream 1, which f writes), both dense.
template <class T, class F>
void through_lines(const tt::Lines& lines, F f) {
  if (is_dense<T>(lines, lines.stream[0]) && is_dense<T>(lines, lines.stream[1]))
    return f(reinterpret_cast<const T*>(lines.stream[0].data),
             reinterpret_cast<T*>(lines.stream[1].data));
  const std::vector<T> x = gathered<T>(lines, lines.stream[0]);
  std::vector<T> y(x.size(), std::numeric_limits<T>::quiet_NaN());
  f(x.data(), y.data());
  scatter(lines, lines.stream[1], y);
}

// The shape of an elementwise kernel, the outermost dim first, without dims of one element.
struct Shape {
  int64_t sizes[tt::kMaxDims];
  int dims = 0;

  explicit Shape(const tt::Iter& iter) {
    for (int d = iter.ndim - 1; d >= 0; --d)
      if (iter.shape[d] != 1) sizes[dims++] = iter.shape[d];
  }
};

// An operand of that kernel: strides in elements of the same dims.
struct Strided {
  int64_t strides[tt::kMaxDims];
  bool whole = true;  // strides are whole elements, and none is negative

  Strided(const tt::Iter& iter, int operand, int64_t itemsize) {
    int dims = 0;
    for (int d = iter.ndim - 1; d >= 0; --d) {
      if (iter.shape[d] == 1) continue;
      const int64_t step = iter.operands[operand].strides[d];
      whole &= step >= 0 && step % itemsize == 0;
      strides[dims++] = step / itemsize;
    }
  }
};

}  // namespace glue
