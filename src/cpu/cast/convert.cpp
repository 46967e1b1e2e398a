// Rows converted from one dtype to another; built once per instruction set.
#include "cpu/cast/convert.h"

#include <cstring>
#include <type_traits>

#include "core/dtypes/converted.h"
#include "cpu/vec/vec_half.h"

namespace tt::cpu {
namespace {

// Through memcpy: a NumPy address need not be aligned. A bool may hold any byte: it is true if not
// 0.
template <class From, class To>
void by_elements(char* const* data, const int64_t* strides, int64_t n) {
  constexpr bool from_bool = std::is_same_v<From, bool>;
  using Raw = std::conditional_t<from_bool, uint8_t, From>;
  char* const out = data[0];
  const char* const x = data[1];
  auto rows = [=](int64_t out_stride, int64_t x_stride) {
    for (int64_t i = 0; i < n; ++i) {
      Raw value;
      std::memcpy(&value, x + i * x_stride, sizeof(From));
      const To result = from_bool ? static_cast<To>(value != 0) : converted<To>(value);
      std::memcpy(out + i * out_stride, &result, sizeof(To));
    }
  };
  if (strides[0] != sizeof(To) || strides[1] != sizeof(From))
    rows(strides[0], strides[1]);
  else if (std::is_same_v<From, To>)
    std::memcpy(out, x, n * sizeof(To));
  else
    rows(sizeof(To), sizeof(From));
}

struct ToBfloat {
  HalfBits operator()(Vec<float> x) const { return bfloat_of_float(x); }
};

// f gives a vector of Out for as many of In; what does not lie side by side is gathered first.
template <class In, class Out, class F>
void by_vectors(char* const* data, const int64_t* strides, int64_t n, F f) {
  constexpr int kLanes = lanes<float>;
  char* const out = data[0];
  const char* const in = data[1];
  int64_t i = 0;
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
    if constexpr (std::is_same_v<F, ToBfloat>) {
      for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
        Vec<float> first, second;
        std::memcpy(&first, in + i * sizeof(In), sizeof first);
        std::memcpy(&second, in + (i + kLanes) * sizeof(In), sizeof second);
        const Bfloats result = bfloats_of(first, second);
        std::memcpy(out + i * sizeof(Out), &result, sizeof result);
      }
    }
    for (; i + kLanes <= n; i += kLanes) {
      typename VecOf<In, kLanes * sizeof(In)>::type x;
      std::memcpy(&x, in + i * sizeof(In), sizeof x);
      const auto result = f(x);
      std::memcpy(out + i * sizeof(Out), &result, sizeof result);
    }
  }
  for (; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    typename VecOf<In, kLanes * sizeof(In)>::type x{};
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(reinterpret_cast<char*>(&x) + k * sizeof(In), in + (i + k) * strides[1],
                  sizeof(In));
    const auto result = f(x);
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(out + (i + k) * strides[0],
                  reinterpret_cast<const char*>(&result) + k * sizeof(Out), sizeof(Out));
  }
}

template <class From, class To>
void convert_row(char* const* data, const int64_t* strides, int64_t n);

// By way of float, a block at a time.
template <class From, class To>
void through_float(char* const* data, const int64_t* strides, int64_t n) {
  constexpr int64_t kPart = 256;
  float block[kPart];
  char* const middle = reinterpret_cast<char*>(block);
  for (int64_t i = 0; i < n; i += kPart) {
    const int64_t count = n - i < kPart ? n - i : kPart;
    char* const in[] = {middle, data[1] + i * strides[1]};
    const int64_t in_strides[] = {sizeof(float), strides[1]};
    convert_row<From, float>(in, in_strides, count);
    char* const out[] = {data[0] + i * strides[0], middle};
    const int64_t out_strides[] = {strides[0], sizeof(float)};
    convert_row<float, To>(out, out_strides, count);
  }
}

// n elements side by side, all of them *value.
template <class T>
void repeat(char* out, const char* value, int64_t n) {
  using Raw = std::conditional_t<is_half_type<T>, uint16_t, T>;
  Raw x;
  std::memcpy(&x, value, sizeof x);
  const char* const bytes = reinterpret_cast<const char*>(&x);
  bool alike = true;
  for (size_t k = 1; k < sizeof x; ++k) alike &= bytes[k] == bytes[0];
  if (alike) {
    std::memset(out, bytes[0], n * sizeof x);
    return;
  }
  const Vec<Raw> v = splat(x);
  int64_t i = 0;
  for (; i + lanes<Raw> <= n; i += lanes<Raw>) std::memcpy(out + i * sizeof x, &v, sizeof v);
  for (; i < n; ++i) std::memcpy(out + i * sizeof x, &x, sizeof x);
}

template <class From, class To>
void convert_row(char* const* data, const int64_t* strides, int64_t n) {
  if (strides[1] == 0 && strides[0] == sizeof(To) && n > 1) {
    alignas(To) char value[sizeof(To)];
    char* const first[] = {value, data[1]};
    convert_row<From, To>(first, strides, 1);
    return repeat<To>(data[0], value, n);
  }
  constexpr bool halves = is_half_type<From> || is_half_type<To>;
  if constexpr (std::is_same_v<From, To> || !halves)
    by_elements<From, To>(data, strides, n);
  else if constexpr (!std::is_same_v<From, float> && !std::is_same_v<To, float>)
    through_float<From, To>(data, strides, n);
  else if constexpr (std::is_same_v<From, Half>)
    by_vectors<uint16_t, float>(data, strides, n, [](HalfBits x) { return float_of_half(x); });
  else if constexpr (std::is_same_v<To, Half>)
    by_vectors<float, uint16_t>(data, strides, n, [](Vec<float> x) { return half_of_float(x); });
  else if constexpr (std::is_same_v<From, BFloat16>)
    by_vectors<uint16_t, float>(data, strides, n, [](HalfBits x) { return float_of_bfloat(x); });
  else
    by_vectors<float, uint16_t>(data, strides, n, ToBfloat());
}

template <class From>
constexpr void fill(Loop (&row)[kDTypes]) {
#define X(name, type, text, category) row[static_cast<int>(DType::name)] = convert_row<From, type>;
  TT_FOR_EACH_DTYPE(X)
#undef X
}

constexpr ConversionTable make_table() {
  ConversionTable table{};
#define X(name, type, text, category) fill<type>(table.loops[static_cast<int>(DType::name)]);
  TT_FOR_EACH_DTYPE(X)
#undef X
  return table;
}

}  // namespace

namespace TT_ISA {
extern const ConversionTable conversion_table = make_table();
}

}  // namespace tt::cpu
