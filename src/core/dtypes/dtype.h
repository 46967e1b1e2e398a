// Element types, and the Scalar that a Python number becomes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <type_traits>

#include "core/dtypes/half.h"

namespace tt {

// X(name, C++ type, text, category). The order is that of the tables. A kernel without half types
// of its own gets blocks of floats, converted and converted back (cpu/infra/run.cpp).
#define TT_FOR_EACH_DTYPE(X)               \
  X(Bool, bool, "bool", Bool)              \
  X(UInt8, uint8_t, "uint8", Int)          \
  X(Int8, int8_t, "int8", Int)             \
  X(Int16, int16_t, "int16", Int)          \
  X(Int32, int32_t, "int32", Int)          \
  X(Int64, int64_t, "int64", Int)          \
  X(Float16, Half, "float16", Float)       \
  X(BFloat16, BFloat16, "bfloat16", Float) \
  X(Float32, float, "float32", Float)      \
  X(Float64, double, "float64", Float)

enum class DType : uint8_t {
#define X(name, type, text, category) name,
  TT_FOR_EACH_DTYPE(X)
#undef X
};

// Promotion compares categories before sizes.
enum class Category : uint8_t { Bool, Int, Float };

#define X(...) +1
constexpr int kDTypes = TT_FOR_EACH_DTYPE(X);
#undef X

struct TypeFacts {
  size_t size;
  Category category;
  const char* name;
};
// Not an array: kernels of a GPU ask, too, and nvcc makes of an array that only the host has a
// trap.
constexpr TypeFacts facts_of(DType dtype) {
  switch (dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return {sizeof(type), Category::category, text};
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
  return {};
}

constexpr size_t itemsize(DType dtype) { return facts_of(dtype).size; }
constexpr Category category(DType dtype) { return facts_of(dtype).category; }
constexpr const char* name(DType dtype) { return facts_of(dtype).name; }

constexpr bool is_floating(DType dtype) { return category(dtype) == Category::Float; }

// The half types: stored in 16 bits, computed in float32.
constexpr bool is_half(DType dtype) { return is_floating(dtype) && itemsize(dtype) == 2; }
constexpr DType computed_in(DType dtype) { return is_half(dtype) ? DType::Float32 : dtype; }
// The order in which tables have kernels of floats; -1 of any other dtype.
constexpr int float_kind(DType dtype) {
  return dtype == DType::Float32    ? 0
         : dtype == DType::Float64  ? 1
         : dtype == DType::Float16  ? 2
         : dtype == DType::BFloat16 ? 3
                                    : -1;
}
// The dtype in which kernels in that order take arrays: their own where there is one.
template <class Kernel>
constexpr DType taken_in(DType dtype, const Kernel (&kernels)[4]) {
  const int kind = float_kind(dtype);
  return kind >= 0 && kernels[kind] ? dtype : computed_in(dtype);
}

template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool is_float_type = std::is_floating_point_v<T> || is_half_type<T>;

inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

template <class T>
constexpr DType dtype_of();
#define X(name, type, text, category) \
  template <>                         \
  constexpr DType dtype_of<type>() {  \
    return DType::name;               \
  }
TT_FOR_EACH_DTYPE(X)
#undef X

// What a recording rests on: a followed number's value, or that it is another than this one.
void note_read(int number);
void note_apart(int number, double value);

// A Python bool, int or float. It ranks below every array in promotion and is never boxed as one.
// A float may be followed: a program takes another in each run. Note [Followed numbers].
struct Scalar {
  Category kind;
  union {
    int64_t i;  // Bool (0 or 1) and Int
    double d;   // Float
  };
  bool wide = false;               // an Int from 2^63 to 2^64 - 1, whose bits i holds
  DType rounded = DType::Float64;  // to this half
  int number = kNone;              // that is followed
  static constexpr int kNone = -1;

  static Scalar of_bool(bool value) { return Scalar{Category::Bool, {int64_t{value}}}; }
  static Scalar of_int(int64_t value) { return Scalar{Category::Int, {value}}; }
  static Scalar of_wide(uint64_t value) {
    return Scalar{Category::Int, {static_cast<int64_t>(value)}, true};
  }
  static Scalar of_double(double value) {
    Scalar scalar{Category::Float, {0}};
    scalar.d = value;
    return scalar;
  }

  // Integer to integer wraps around; a float goes to bool by truth.
  template <class T>
  T to() const {
    if (number != kNone) note_read(number);
    return value<T>();
  }
  // Whether it is followed, and none of these; nor is it in a run: who asks need not read it.
  template <size_t count>
  bool stays_apart_from(const double (&values)[count]) const {
    if (number == kNone) return false;
    for (const double each : values)
      if (d == each) return false;
    for (const double each : values) note_apart(number, each);
    return true;
  }
  // The same as to() for who keeps the number with the value.
  template <class T>
  T value() const {
    if constexpr (is_half_type<T>) return T(value<float>());
    if constexpr (std::is_same_v<T, bool>) return kind == Category::Float ? d != 0 : i != 0;
    if (kind == Category::Float) return static_cast<T>(d);
    if (wide && std::is_floating_point_v<T>) return static_cast<T>(static_cast<uint64_t>(i));
    return static_cast<T>(i);
  }
  // Rounded to a half, of which kernels see floats.
  Scalar rounded_to(DType half) const {
    Scalar result =
        of_double(half == DType::Float16 ? float{value<Half>()} : float{value<BFloat16>()});
    result.number = number;
    result.rounded = half;
    return result;
  }
  void write(DType dtype, void* to_address) const;
};

// As value(): for who keeps the number with the element.
inline void Scalar::write(DType dtype, void* to_address) const {
  switch (dtype) {
#define X(name, type, text, category)                \
  case DType::name:                                  \
    *static_cast<type*>(to_address) = value<type>(); \
    break;
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

// A number as an element that a kernel reads, and which one it is if a program sets it in each run.
struct NumberOperand {
  alignas(8) char bytes[8];
  int number;
  DType rounded;  // as Scalar's

  void take(const Scalar& given, DType dtype) {
    given.write(dtype, bytes);
    number = given.number, rounded = given.rounded;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Scalar& scalar) {
  if (scalar.kind == Category::Float) return out << scalar.d;
  if (scalar.wide) return out << static_cast<uint64_t>(scalar.i);
  if (scalar.kind == Category::Bool) return out << (scalar.i != 0);
  return out << scalar.i;
}

}  // namespace tt
