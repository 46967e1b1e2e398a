// What samplers share: the order in which strided memory is filled, and uniform numbers from words.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtypes/draw_range.h"
#include "core/dtypes/with_type.h"
#include "core/error.h"
#include "cpu/infra/walk.h"
#include "cpu/random/random.h"

namespace tt::cpu {

namespace {

// Calls row(data, steps, count) for each innermost row, in order of memory, of arrays of one shape.
// Data and steps are per array, in bytes; dims that lie densely behind each other are one row.
template <class Row>
void for_each_row(const NDArray& out, std::initializer_list<Operand> inputs, const Row& row) {
  if (out.numel() == 0) return;
  const int count = static_cast<int>(inputs.size());
  const Iter iter(out, inputs.begin(), count, out.dtype(), out.dtype());
  walk(iter, 0, iter.numel, iter.numel, row);
}

using Guard = std::lock_guard<ForkSafeLock>;

// NumPy's memory need not be aligned to its elements.
template <class T>
inline T get(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void put(T* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T, class Number>
inline T as(Number number) {
  return static_cast<T>(static_cast<std::conditional_t<is_half_type<T>, float, Number>>(number));
}

// out = draw(x, ...), in order of the memory of `out`, where x is of X, and given as a double; what
// is drawn is a number that a cast makes a T, a half by way of float32.
template <class T, class X = T, class Draw, class... Arrays>
void map(const NDArray& out, const Draw& draw, const Arrays&... inputs) {
  for_each_row(out, {&inputs...}, [&](char* const* data, const int64_t* steps, int64_t count) {
    char* const to = data[0];
    const int64_t step = steps[0];
    for (int64_t i = 0; i < count; ++i) {
      int k = 0;
      [[maybe_unused]] const auto next = [&](const NDArray&) {
        ++k;
        return static_cast<double>(read<X>(data[k] + i * steps[k]));
      };
      write(to + i * step, as<T>(std::apply(draw, std::tuple{next(inputs)...})));
    }
  });
}

// Fills `out` with draw().
template <class T, class Draw>
void fill(Generator& generator, const NDArray& out, const Draw& draw) {
  Guard guard(generator.mutex());
  map<T>(out, draw);
}

// float32 and float64: what PyTorch has these samplers for.
template <class Body>
void with_floating_type(const char* op, DType dtype, const Body& body) {
  if (dtype == DType::Float32) return body(float{});
  if (dtype == DType::Float64) return body(double{});
  throw NotImplementedError("[", op, "] is not implemented for ", dtype);
}

// And the half types.
template <class Body>
void with_float_or_half(const char* op, DType dtype, const Body& body) {
  if (dtype == DType::Float16) return body(Half{});
  if (dtype == DType::BFloat16) return body(BFloat16{});
  with_floating_type(op, dtype, body);
}

// [0, 1) with as many bits as T has: the low 24 of one word, the low 53 of two.
template <class T>
T unit(Generator& generator);
template <>
inline float unit<float>(Generator& generator) {
  return static_cast<float>(generator.random() & 0xffffff) * 0x1p-24f;
}
template <>
inline double unit<double>(Generator& generator) {
  return static_cast<double>(generator.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

constexpr double kPi = 3.141592653589793238;

// One Box-Muller pair gives two calls their normals, whatever their targets are.
inline double next_normal(Generator& generator, double mean, double std) {
  std::optional<double> normal = generator.take_normal();
  if (!normal) {
    const double u1 = unit<double>(generator);
    const double u2 = unit<double>(generator);
    const double radius = std::sqrt(-2.0 * std::log1p(-u2));
    const double theta = 2.0 * kPi * u1;
    generator.keep_normal(radius * std::sin(theta));
    normal = radius * std::cos(theta);
  }
  return std::fma(*normal, std, mean);  // PyTorch's compiler contracts here
}

}  // namespace
}  // namespace tt::cpu
