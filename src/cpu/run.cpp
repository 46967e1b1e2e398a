#include "cpu/run.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "core/gil.h"
#include "cpu/parallel.h"

namespace tt::cpu {

namespace {

template <class From, class To>
To convert_one(From value) {
  if constexpr (is_half_type<From> && !is_half_type<To>)
    return convert_one<float, To>(value);
  else if constexpr (is_half_type<To>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    // Through int64, where it fits: C++ leaves anything else undefined.
    return value >= -9223372036854775808.0 && value < 9223372036854775808.0
               ? static_cast<To>(static_cast<int64_t>(value))
               : static_cast<To>(std::numeric_limits<int64_t>::min());
  else
    return static_cast<To>(value);
}

// Through memcpy: a NumPy address need not be aligned. A bool may hold any byte: it is true if not
// 0.
template <class From, class To>
void convert(char* const* data, const int64_t* strides, int64_t n) {
  constexpr bool from_bool = std::is_same_v<From, bool>;
  using Raw = std::conditional_t<from_bool, uint8_t, From>;
  char* const out = data[0];
  const char* const x = data[1];
  auto rows = [=](int64_t out_stride, int64_t x_stride) {
    for (int64_t i = 0; i < n; ++i) {
      Raw value;
      std::memcpy(&value, x + i * x_stride, sizeof(From));
      const To converted = from_bool ? static_cast<To>(value != 0) : convert_one<Raw, To>(value);
      std::memcpy(out + i * out_stride, &converted, sizeof(To));
    }
  };
  if (strides[0] != sizeof(To))
    rows(strides[0], strides[1]);
  else if (strides[1] != sizeof(From))
    rows(sizeof(To), strides[1]);
  else if (std::is_same_v<From, To>)
    std::memcpy(out, x, n * sizeof(To));
  else
    rows(sizeof(To), sizeof(From));
}

template <class From>
constexpr void fill_row(Loop* row) {
#define X(name, type, text, category) *row++ = convert<From, type>;
  TT_FOR_EACH_DTYPE(X)
#undef X
}

// One row of up to kBlock elements whose operands need conversion.
struct Converter {
  const Iter& iter;
  Loop loop;
  alignas(64) char scratch[Iter::kMaxOperands][kBlock * 8];

  bool needs(int k) const {
    return iter.operands[k].dtype != (k == 0 ? iter.result : iter.compute);
  }

  void operator()(char* const* data, const int64_t* strides, int64_t n) {
    char* at[Iter::kMaxOperands];
    int64_t steps[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      at[k] = data[k];
      steps[k] = strides[k];
      if (!needs(k)) continue;
      const DType dtype = k == 0 ? iter.result : iter.compute;
      at[k] = scratch[k];
      steps[k] = itemsize(dtype);
      if (k == 0) continue;
      if (strides[k] == 0) steps[k] = 0;
      char* const from_to[] = {scratch[k], data[k]};
      const int64_t from_to_strides[] = {steps[k], strides[k]};
      conversion(iter.operands[k].dtype, dtype)(from_to, from_to_strides, steps[k] ? n : 1);
    }
    loop(at, steps, n);
    if (!needs(0)) return;
    char* const from_to[] = {data[0], scratch[0]};
    const int64_t from_to_strides[] = {strides[0], steps[0]};
    conversion(iter.result, iter.operands[0].dtype)(from_to, from_to_strides, n);
  }
};

// Calls row(data, strides, n) for the elements [begin, end) of the iteration order.
template <class Row>
void walk(const Iter& iter, int64_t begin, int64_t end, int64_t longest, Row&& row) {
  int64_t index[kMaxDims], strides[Iter::kMaxOperands];
  char* data[Iter::kMaxOperands];
  int64_t rest = begin;
  for (int d = 0; d < iter.ndim; ++d) {
    index[d] = rest % iter.shape[d];
    rest /= iter.shape[d];
  }
  for (int k = 0; k < iter.count; ++k) {
    strides[k] = iter.operands[k].strides[0];
    data[k] = iter.operands[k].data;
    for (int d = 0; d < iter.ndim; ++d) data[k] += index[d] * iter.operands[k].strides[d];
  }
  while (begin < end) {
    const int64_t n = std::min({iter.shape[0] - index[0], end - begin, longest});
    row(data, strides, n);
    begin += n;
    index[0] += n;
    for (int k = 0; k < iter.count; ++k) data[k] += n * strides[k];
    for (int d = 0; d + 1 < iter.ndim && index[d] == iter.shape[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      for (int k = 0; k < iter.count; ++k)
        data[k] += iter.operands[k].strides[d + 1] - iter.shape[d] * iter.operands[k].strides[d];
    }
  }
}

}  // namespace

Loop conversion(DType from, DType to) {
  struct Table {
    Loop loops[kDTypes][kDTypes];
    constexpr Table() : loops() {
#define X(name, type, text, category) fill_row<type>(loops[static_cast<int>(DType::name)]);
      TT_FOR_EACH_DTYPE(X)
#undef X
    }
  };
  static constexpr Table table;
  return table.loops[static_cast<int>(from)][static_cast<int>(to)];
}

void run(const Iter& iter, Loop loop) {
  if (iter.numel == 0) return;
  bool converts = iter.operands[0].dtype != iter.result;
  for (int k = 1; k < iter.count; ++k) converts |= iter.operands[k].dtype != iter.compute;
  if (!converts && iter.ndim == 1 && iter.numel <= kGrain) {
    char* data[Iter::kMaxOperands];
    int64_t strides[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      data[k] = iter.operands[k].data;
      strides[k] = iter.operands[k].strides[0];
    }
    loop(data, strides, iter.numel);
    return;
  }
  const WithoutGil unlocked(iter.numel > kGrain);
  parallel_for(iter.numel, kGrain, [&](int64_t begin, int64_t end) {
    if (converts)
      walk(iter, begin, end, kBlock, Converter{iter, loop, {}});
    else
      walk(iter, begin, end, iter.numel, loop);
  });
}

}  // namespace tt::cpu
