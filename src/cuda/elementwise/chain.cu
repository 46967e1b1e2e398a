// A chain of elementwise ops as one kernel (core/program/chain_args.h).
//
// A thread takes four elements through all ops, by the functors of the kernels that each op has
// alone, and rounds each result to the dtype of the array that it would lie in: the bits are the
// same. All threads are at the same op at once, so that no warp diverges.
//
// Where a result is read: most ops read the one before, which stays in registers. Registers have
// no numbers that a program could compute, so an array of the others would lie on the thread's
// stack, which is memory. They lie in shared memory, at a place for each thread, as many as the
// chain needs at once: nobody waits for another thread, and banks do not conflict.
#include "core/dtypes/dtype_sets.h"
#include "core/program/chain_args.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/formulas/functors.h"

using Op = ChainArgs::Op;
using Array = ChainArgs::Array;
using From = ChainArgs::From;
using Four = Pack<float>;

// Fewer than elsewhere, as each has a place in all slots: of 40, 80 KiB of shared memory.
constexpr int kChainThreads = 128;

// What an array's four neighbours are: anywhere, side by side, or one for all.
enum Packs : uint8_t { kEach, kNeighbours, kOne };

// ---- arrays -------------------------------------------------------------------------------------
// A bool may hold any byte: it is true if not 0.
template <class Stored>
__device__ float as_float(Stored x) {
  if constexpr (std::is_same_v<Stored, uint8_t>)
    return x != 0;
  else
    return x;
}
template <class Stored>
__device__ Stored stored(float x) {
  if constexpr (std::is_same_v<Stored, uint8_t>)
    return x != 0;
  else
    return Stored(x);
}

// f(x) of an x of the type that the memory holds.
template <class F>
__device__ void with_stored(DType dtype, F f) {
  switch (dtype) {
    case DType::Float16:
      return f(Half{});
    case DType::BFloat16:
      return f(BFloat16{});
    case DType::Bool:
      return f(uint8_t{});
    default:
      return f(float{});
  }
}

__device__ char* place_of(const Array& x, uint32_t index) {
  int64_t offset = 0;
  for (int d = 0; d < x.ndim - 1; ++d) {
    offset += index % x.shape[d] * x.strides[d];
    index /= x.shape[d];
  }
  return x.data + offset + index * x.strides[x.ndim - 1];
}

// The elements from `first` on, of which the last thread may have fewer: it reads the last again.
__device__ Four load(const Array& x, uint32_t first, uint32_t numel) {
  Four all;
  if (x.packs != kEach && numel - first >= kPack) {
    const char* const from = place_of(x, first);
    with_stored(x.dtype, [&](auto type) {
      using Stored = decltype(type);
      if (x.packs == kOne) {
        all = four_times(as_float(*reinterpret_cast<const Stored*>(from)));
        return;
      }
      const auto pack = *reinterpret_cast<const Pack<Stored>*>(from);
      TT_UNROLL
      for (int j = 0; j < kPack; ++j) all.of[j] = as_float(pack.of[j]);
    });
    return all;
  }
  const char* from[kPack];
  TT_UNROLL
  for (int j = 0; j < kPack; ++j) from[j] = place_of(x, first + j < numel ? first + j : numel - 1);
  with_stored(x.dtype, [&](auto type) {
    TT_UNROLL
    for (int j = 0; j < kPack; ++j)
      all.of[j] = as_float(*reinterpret_cast<const decltype(type)*>(from[j]));
  });
  return all;
}

__device__ void store(const Array& x, uint32_t first, uint32_t numel, const Four& all) {
  if (x.packs == kNeighbours && numel - first >= kPack) {
    char* const to = place_of(x, first);
    with_stored(x.dtype, [&](auto type) {
      using Stored = decltype(type);
      Pack<Stored> pack;
      TT_UNROLL
      for (int j = 0; j < kPack; ++j) pack.of[j] = stored<Stored>(all.of[j]);
      *reinterpret_cast<Pack<Stored>*>(to) = pack;
    });
    return;
  }
  TT_UNROLL
  for (int j = 0; j < kPack; ++j) {
    if (first + j == numel) return;
    char* const to = place_of(x, first + j);
    with_stored(x.dtype, [&](auto type) {
      *reinterpret_cast<decltype(type)*>(to) = stored<decltype(type)>(all.of[j]);
    });
  }
}

// ---- ops ----------------------------------------------------------------------------------------
template <class F, int kInputs>
__device__ Four apply(const Four (&x)[ChainArgs::kMostInputs]) {
  Four all;
  TT_UNROLL
  for (int j = 0; j < kPack; ++j) {
    if constexpr (kInputs == 1)
      all.of[j] = static_cast<float>(F::apply(x[0].of[j]));
    else if constexpr (kInputs == 2)
      all.of[j] = static_cast<float>(F::apply(x[0].of[j], x[1].of[j]));
    else
      all.of[j] = static_cast<float>(F::apply(x[0].of[j], x[1].of[j], x[2].of[j]));
  }
  return all;
}

__device__ Four apply(ChainOp op, const Four (&x)[ChainArgs::kMostInputs]) {
  switch (op) {
    case ChainOp::copy:
      break;
    case ChainOp::where:
      return apply<where_op, 3>(x);
#define X(name)       \
  case ChainOp::name: \
    return apply<name##_op, 1>(x);
      TT_CHAIN_UNARY(X)
#undef X
#define X(name)       \
  case ChainOp::name: \
    return apply<name##_op, 2>(x);
      TT_CHAIN_BINARY(X)
#undef X
#define X(name)       \
  case ChainOp::name: \
    return apply<name##_op, 3>(x);
      TT_CHAIN_TERNARY(X)
#undef X
  }
  return x[0];
}

__device__ Four value_of(const ChainArgs& chain, ChainArgs::Source from, uint32_t first,
                         const Four& last, const Four* slots) {
  switch (from.from) {
    case From::kSlot:
      return slots[from.index * kChainThreads];
    case From::kArray:
      return load(chain.array[from.index], first, chain.numel);
    case From::kNumber:
      return four_times(chain.number[from.index]);
    default:
      return last;
  }
}

__global__ void __launch_bounds__(kChainThreads, 8) chain_of_ops(const ChainArgs chain) {
  const uint32_t first = (blockIdx.x * kChainThreads + threadIdx.x) * kPack;
  if (first >= chain.numel) return;
  Four* const slots = dynamic_shared<Four>() + threadIdx.x;
  Four last{};
  for (int n = 0; n < chain.ops; ++n) {
    const Op& op = chain.op[n];
    Four x[ChainArgs::kMostInputs]{};
    TT_UNROLL_BY(1)  // the code of reading once; x is indexed by what the compiler knows
    for (int k = 0; k < op.inputs; ++k) {
      const Four value = value_of(chain, op.input[k], first, last, slots);
      (k == 0 ? x[0] : k == 1 ? x[1] : x[2]) = value;
    }
    last = apply(op.code, x);
    with_stored(op.dtype, [&](auto type) {
      TT_UNROLL
      for (int j = 0; j < kPack; ++j) last.of[j] = as_float(stored<decltype(type)>(last.of[j]));
    });
    if (op.slot >= 0) slots[op.slot * kChainThreads] = last;
    if (op.array >= 0) store(chain.array[op.array], first, chain.numel, last);
  }
}

Packs packs_of(const Array& x) {
  const int64_t size = static_cast<int64_t>(itemsize(x.dtype)), pack = kPack * size;
  if (x.ndim > 1 && x.shape[0] % kPack != 0) return kEach;
  if (x.strides[0] == 0) return kOne;
  bool is_aligned = reinterpret_cast<uintptr_t>(x.data) % pack == 0;
  for (int d = 1; d < x.ndim; ++d) is_aligned &= x.strides[d] % pack == 0;
  return is_aligned && x.strides[0] == size ? kNeighbours : kEach;
}

}  // namespace

void chain(const ChainArgs& args) {
  ChainArgs all = args;
  for (int k = 0; k < all.arrays; ++k) all.array[k].packs = packs_of(all.array[k]);
  constexpr int64_t kElements = kChainThreads * kPack;
  const size_t shared = static_cast<size_t>(all.slots) * kChainThreads * sizeof(Four);
  launch<chain_of_ops>({ceil_div(all.numel, kElements), kChainThreads, shared}, all);
}

}  // namespace tt::cuda
