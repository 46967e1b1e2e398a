// The negative log-likelihood of classes, and what it shares with cross-entropy: the check of
// labels, and the mean by the weights of those that count.
#include "cpu/cross_entropy/nll.h"

#include <cstdint>
#include <type_traits>

#include "core/dtypes/half.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "core/walker.h"

namespace tt::cpu {

namespace {

template <class T>
const T* numbers(const char* data) {
  return reinterpret_cast<const T*>(data);
}

// The sum of the weights, one after the other; the number of lines where there are none.
template <class T>
double divisor_of(const DivisorArgs& a) {
  if (!a.classes) return static_cast<double>(a.lines);
  if (!a.weight) {
    int64_t counted = 0;
    for (int64_t i = 0; i < a.lines; ++i) counted += a.classes[i] != a.ignore_index;
    return static_cast<double>(counted);
  }
  double total = 0;
  for (int64_t i = 0; i < a.lines; ++i)
    if (a.classes[i] != a.ignore_index)
      total += static_cast<double>(numbers<T>(a.weight)[a.classes[i]]);
  return total;
}

template <class T>
double lanes_sum(const T* x, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += static_cast<double>(x[i + k]);
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class T>
void average_in(const AverageArgs& a) {
  const double divisor = divisor_of<T>(a.by);
  *reinterpret_cast<T*>(a.divisor) = static_cast<T>(divisor);
  if (!a.out) return;
  const double sum = sum_of(numbers<T>(a.losses), a.by.lines);
  Scalar::of_double(a.mean ? sum / divisor : sum).write(a.dtype, a.out);
}

// body(T{}, C{}) with the types of x and of what is computed.
template <class Body>
void with_types(DType dtype, const Body& body) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (is_float_type<T>) body(type, std::conditional_t<is_half_type<T>, float, T>{});
  });
}

// Calls body(i, place) for the lines that count, where place is that of their class in x.
template <class Body>
void for_each_line(const CrossEntropyArgs& a, const Body& body) {
  const LineStream& x = a.lines.stream[0];
  Walker<1> walker(a.lines.shape, {x.strides});
  for (int64_t i = 0; i < a.lines.count; ++i, walker.advance())
    if (a.classes[i] != a.ignore_index) body(i, x.data + walker.offset() + a.classes[i] * x.step);
}

}  // namespace

double sum_of(const float* x, int64_t n) { return lanes_sum(x, n); }
double sum_of(const double* x, int64_t n) { return lanes_sum(x, n); }

bool labels(const LabelArgs& a) {
  bool outside = false;
  for (int64_t i = 0; i < a.count; ++i) {
    const int64_t label = a.labels[i];
    outside |= ((label < 0) | (label >= a.classes)) & (label != a.except);
  }
  return !outside;
}

void average(const AverageArgs& a) {
  a.compute == DType::Float32 ? average_in<float>(a) : average_in<double>(a);
}

void nll(const CrossEntropyArgs& a) {
  with_types(a.lines.stream[0].dtype, [&](auto type, auto wide) {
    using T = decltype(type);
    using C = decltype(wide);
    C* const loss = reinterpret_cast<C*>(a.loss);
    for (int64_t i = 0; i < a.lines.count; ++i) loss[i] = 0;
    for_each_line(a, [&](int64_t i, const char* place) {
      loss[i] = -static_cast<C>(read<T>(place));
      if (a.weight) loss[i] *= numbers<C>(a.weight)[a.classes[i]];
    });
  });
}

void nll_backward(const CrossEntropyArgs& a) {
  with_types(a.lines.stream[0].dtype, [&](auto type, auto wide) {
    using T = decltype(type);
    using C = decltype(wide);
    const C scale = a.divisor ? 1 / *numbers<C>(a.divisor) : 1;
    for_each_line(a, [&](int64_t i, char* place) {
      C value = -numbers<C>(a.grad)[a.grad_per_line ? i : 0] * scale;
      if (a.weight) value *= numbers<C>(a.weight)[a.classes[i]];
      write(place, static_cast<T>(value));
    });
  });
}

}  // namespace tt::cpu
