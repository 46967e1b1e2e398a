// A chain as one kernel of a device takes it: elementwise ops one after the other, each of which
// reads results of those before it, arrays and numbers. All is by value: nothing of it is in the
// host's memory.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// The ops that such a kernel has, of ops.def: what real chains are made of, computed in float32.
// (Not sin and its like, which keep an array in memory: the kernel would have that for all.)
// clang-format off
#define TT_CHAIN_UNARY(X)                                                                         \
  X(neg) X(abs) X(sign) X(square) X(cube) X(relu) X(floor) X(round) X(reciprocal) X(sqrt)         \
  X(rsqrt) X(exp) X(expm1) X(log) X(log1p) X(tanh) X(sigmoid) X(erf) X(gelu) X(gelu_tanh)         \
  X(silu) X(mish) X(log_sigmoid) X(hardsigmoid) X(hardswish) X(logical_not) X(isnan) X(isinf)
#define TT_CHAIN_BINARY(X)                                                                        \
  X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) X(eq) X(ne) X(lt) X(le) X(gt) X(ge)    \
  X(leaky_relu) X(elu) X(glu) X(mse_loss) X(l1_loss) X(relu_backward) X(tanh_backward)            \
  X(sigmoid_backward) X(gelu_backward) X(gelu_tanh_backward) X(silu_backward) X(mish_backward)    \
  X(log_sigmoid_backward) X(hardsigmoid_backward) X(hardswish_backward)
#define TT_CHAIN_TERNARY(X)                                                                       \
  X(clamp) X(lerp) X(addcmul) X(addcdiv) X(softplus) X(threshold) X(threshold_backward)           \
  X(leaky_relu_backward) X(elu_backward) X(smooth_l1_loss) X(huber_loss) X(bce_with_logits)       \
  X(glu_gate_backward)
// clang-format on

enum class ChainOp : uint8_t {
  copy,  // and casts
  where,
#define X(name) name,
  TT_CHAIN_UNARY(X) TT_CHAIN_BINARY(X) TT_CHAIN_TERNARY(X)
#undef X
};

// Of the dtypes that a chain reads and writes each number is a float.
constexpr bool is_of_chains(DType dtype) {
  return dtype == DType::Float32 || is_half(dtype) || dtype == DType::Bool;
}

struct ChainArgs {
  static constexpr int kMostOps = 40, kMostArrays = 48, kMostNumbers = 32;
  static constexpr int kMostInputs = 3, kMostDims = 3;
  static constexpr int kNone = -1;
  static constexpr int64_t kMostElements = int64_t{1} << 31;  // a GPU divides 64 bits slowly

  enum class From : uint8_t { kLast, kSlot, kArray, kNumber };
  struct Source {
    From from;
    uint8_t index;
  };
  struct Op {
    ChainOp code;
    DType dtype;  // that the result is rounded to
    uint8_t inputs;
    Source input[kMostInputs];
    int8_t slot, array;  // where the result goes, beside to the next op; or kNone
  };
  // Element i is at i % shape[0] * strides[0] + i / shape[0] % shape[1] * strides[1] + ...
  struct Array {
    char* data;
    DType dtype;
    uint8_t ndim;                // 1 at least
    uint8_t packs;               // the kernel's own
    uint32_t shape[kMostDims];   // the fastest dim first
    int64_t strides[kMostDims];  // bytes
  };

  uint32_t numel = 0;
  int ops = 0, arrays = 0, numbers = 0;
  int slots = 0;  // results that are needed at once, beside the last one
  Op op[kMostOps];
  Array array[kMostArrays];
  float number[kMostNumbers];
};
static_assert(sizeof(ChainArgs) <= 4096);  // all that a kernel takes, before CUDA 12.1

}  // namespace tt
