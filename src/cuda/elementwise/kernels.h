// Every elementwise kernel, over any op of ops.def and dtype: one element per thread. Included by
// unary.cu and elementwise.cu, which split the ops by their inputs, to build at once.
#pragma once
#include "core/dtype_sets.h"
#include "core/tables/elementwise.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"

namespace tt::cuda {
namespace {

#include "core/functors.h"

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

template <class F, class T, int kInputs, bool kMask>
__global__ void elementwise(const Operands all) {
  const int64_t i = thread_index();
  if (i >= all.numel) return;
  const auto x = [&](int k) { return value_of(input<T>(all, k, i)); };
  const auto result = [&] {
    if constexpr (kInputs == 1)
      return F::apply(x(1));
    else if constexpr (kInputs == 2)
      return F::apply(x(1), x(2));
    else if constexpr (kInputs == 3)
      return F::apply(x(1), x(2), x(3));
    else
      return F::apply(x(1), x(2), x(3), x(4));
  }();
  char* const out = all.of[0].data + offset_of(all, 0, i);
  if constexpr (kMask || std::is_same_v<T, bool>)
    store_as<bool>(out, all.of[0].dtype, result != 0);
  else
    store_as<T>(out, all.of[0].dtype, result);
}

template <class F, class T, int kInputs, bool kMask>
void run(const Iter& iter) {
  launch<elementwise<F, T, kInputs, kMask>>(grid_of(iter.numel), operands_of(iter));
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
