// Every elementwise kernel, over any op of ops.def and dtype. Included by unary.cu and
// elementwise.cu, which split the ops by their inputs, to build at once.
//
// `elementwise` has one element per thread, of any strides and dtypes. Where floats lie side by
// side, or are one for a row, the time is that of moving bytes: `packed` has four per thread, and
// moves them at once.
#pragma once
#include "core/dtypes/dtype_sets.h"
#include "core/tables/elementwise.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"

namespace tt::cuda {
namespace {

#include "core/formulas/functors.h"

// What T is computed in. A bool is all bits or none, so that the integers' expressions serve: ~x,
// x + y and x * y come out right, read as "not 0".
template <class T>
using Value = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
__device__ Value<T> value_of(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ? 0xff : 0;
  else
    return x;
}

// F of the inputs x(1), x(2), ...
template <class F, int kInputs, class X>
__device__ auto apply(const X& x) {
  if constexpr (kInputs == 1)
    return F::apply(x(1));
  else if constexpr (kInputs == 2)
    return F::apply(x(1), x(2));
  else if constexpr (kInputs == 3)
    return F::apply(x(1), x(2), x(3));
  else
    return F::apply(x(1), x(2), x(3), x(4));
}

template <class F, class T, int kInputs, bool kMask>
__global__ void elementwise(const Operands all) {
  const int64_t i = thread_index();
  if (i >= all.numel) return;
  const auto result = apply<F, kInputs>([&](int k) { return value_of(input<T>(all, k, i)); });
  char* const out = all.of[0].data + offset_of(all, 0, i);
  if constexpr (kMask || std::is_same_v<T, bool>)
    store_as<bool>(out, all.of[0].dtype, result != 0);
  else
    store_as<T>(out, all.of[0].dtype, result);
}

// The dtypes that `packed` has: T, and of float32 the halves.
template <class T>
bool is_packable(DType dtype) {
  return dtype == dtype_of<T>() ||
         (std::is_same_v<T, float> && (dtype == DType::Float16 || dtype == DType::BFloat16));
}

// The pack from element `first` on, of an array or a number.
template <class T>
__device__ Pack<T> load_pack(const Operands& all, int k, int64_t first) {
  const Operands::One& one = all.of[k];
  if (!one.data) return four_times(read<T>(one.number));
  const char* const from = one.data + offset_of(all, k, first);
  if (one.strides[0] == 0) return four_times(load_as<T>(from, one.dtype));
  if constexpr (std::is_same_v<T, float>) {
    if (one.dtype == DType::Float16)
      return converted_pack<T>(*reinterpret_cast<const Pack<Half>*>(from));
    if (one.dtype == DType::BFloat16)
      return converted_pack<T>(*reinterpret_cast<const Pack<BFloat16>*>(from));
  }
  return *reinterpret_cast<const Pack<T>*>(from);
}
template <class T>
__device__ void store_pack(const Operands& all, int64_t first, const Pack<T>& x) {
  const DType dtype = all.of[0].dtype;
  char* const to = all.of[0].data + offset_of(all, 0, first);
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::Float16) {
      *reinterpret_cast<Pack<Half>*>(to) = converted_pack<Half>(x);
      return;
    }
    if (dtype == DType::BFloat16) {
      *reinterpret_cast<Pack<BFloat16>*>(to) = converted_pack<BFloat16>(x);
      return;
    }
  }
  *reinterpret_cast<Pack<T>*>(to) = x;
}

// Of Operands that are packed.
template <class F, class T, int kInputs, bool kMask>
__global__ void packed(const Operands all) {
  const int64_t first = thread_index() * kPack;
  if (first >= all.numel) return;
  Pack<T> x[kInputs];
  for (int k = 0; k < kInputs; ++k) x[k] = load_pack<T>(all, k + 1, first);
  using Result = std::conditional_t<kMask, bool, T>;
  Pack<Result> results;
  for (int j = 0; j < kPack; ++j) {
    const auto result = apply<F, kInputs>([&](int k) { return x[k - 1].of[j]; });
    if constexpr (kMask)
      results.of[j] = result != 0;
    else
      results.of[j] = result;
  }
  store_pack<Result>(all, first, results);
}

template <class F, class T, int kInputs, bool kMask>
void run(const Iter& iter) {
  const Operands all = operands_of(iter);
  if constexpr (std::is_floating_point_v<T>) {
    bool packs = all.is_packed;
    for (int k = kMask ? 1 : 0; k <= kInputs; ++k)
      packs &= !all.of[k].data || is_packable<T>(all.of[k].dtype);
    if (packs && (!kMask || all.of[0].dtype == DType::Bool))
      return launch<packed<F, T, kInputs, kMask>>(grid_of(all.numel, kPack), all);
  }
  launch<elementwise<F, T, kInputs, kMask>>(grid_of(all.numel), all);
}

// The table's entry, or nullptr where T is not in the op's set.
template <class F, class Set, class T, int kInputs, bool kMask>
constexpr Kernel entry() {
  if constexpr (!Set::template has<T> || !is_native<T>)
    return nullptr;
  else
    return run<F, T, kInputs, kMask>;
}

#include "core/elementwise_fill.h"

}  // namespace
}  // namespace tt::cuda
