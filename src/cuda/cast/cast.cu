// Copies between layouts and dtypes. A kernel for each pair of dtypes takes four elements per
// thread where they lie side by side, else one. Numbers, and what goes by way of a third dtype, are
// for a kernel that asks what it reads and writes. Where the neighbours of one side are far apart
// on the other, as of a transposed matrix, tiles go by way of shared memory, so that threads side
// by side read neighbours, and write neighbours.
#include <cstdlib>

#include "core/tables/cast.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// A bool may hold any byte.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class To, class From>
__device__ Stored<To> cast_one(Stored<From> x) {
  if constexpr (std::is_same_v<From, bool>)
    return converted<To>(x != 0);
  else
    return converted<To>(x);
}

// By packs where all.is_packed.
template <class To, class From>
__global__ void cast_elements(const Operands all) {
  const int64_t index = thread_index() * (all.is_packed ? kPack : 1);
  if (index >= all.numel) return;
  const char* const from = all.of[1].data + offset_of(all, 1, index);
  char* const to = all.of[0].data + offset_of(all, 0, index);
  if (!all.is_packed) {
    *reinterpret_cast<Stored<To>*>(to) =
        cast_one<To, From>(*reinterpret_cast<const Stored<From>*>(from));
    return;
  }
  const auto x = *reinterpret_cast<const Pack<Stored<From>>*>(from);
  Pack<Stored<To>> y;
  for (int j = 0; j < kPack; ++j) y.of[j] = cast_one<To, From>(x.of[j]);
  *reinterpret_cast<Pack<Stored<To>>*>(to) = y;
}

// Another layout of the same dtype, whose elements are as large as a Word.
template <class Word>
__global__ void move_elements(const Operands all) {
  const int64_t i = thread_index();
  if (i >= all.numel) return;
  *reinterpret_cast<Word*>(all.of[0].data + offset_of(all, 0, i)) =
      *reinterpret_cast<const Word*>(all.of[1].data + offset_of(all, 1, i));
}

constexpr int kTile = 32;              // squared
constexpr int64_t kWorth = kTile / 2;  // of a dim, to be cut in tiles

// The same where x has its neighbours along dim `across`.
template <class Word>
__global__ void move_tiles(const Operands all, const int across) {
  __shared__ Word tile[kTile][kTile + 1];
  const Operands::One &to = all.of[0], &from = all.of[1];
  const auto cut = [&](int64_t& index, int d) {
    return next_dim(index, (all.shape[d] + kTile - 1) / kTile) * kTile;
  };
  int64_t index = blockIdx.x;
  const int64_t first = cut(index, 0), first_across = cut(index, across);
  char *out = to.data, *x = from.data;
  for (int d = 1; d < all.ndim; ++d) {
    if (d == across) continue;
    const int64_t i = next_dim(index, all.shape[d]);
    out += i * to.strides[d];
    x += i * from.strides[d];
  }
  const int column = threadIdx.x % kTile;
  for (int row = threadIdx.x / kTile; row < kTile; row += kThreads / kTile) {
    const int64_t i = first + row, j = first_across + column;
    if (i < all.shape[0] && j < all.shape[across])
      tile[row][column] =
          *reinterpret_cast<const Word*>(x + i * from.strides[0] + j * from.strides[across]);
  }
  __syncthreads();
  for (int row = threadIdx.x / kTile; row < kTile; row += kThreads / kTile) {
    const int64_t i = first + column, j = first_across + row;
    if (i < all.shape[0] && j < all.shape[across])
      *reinterpret_cast<Word*>(out + i * to.strides[0] + j * to.strides[across]) =
          tile[column][row];
  }
}

// The dim along which x has its neighbours, and the output has not, where that is worth tiles; or
// 0.
int dim_across(const Operands& all) {
  const Operands::One &out = all.of[0], &x = all.of[1];
  const int64_t item = itemsize(x.dtype);
  if (all.ndim < 2 || all.shape[0] < kWorth || out.strides[0] != item ||
      std::abs(x.strides[0]) < kTile * item)
    return 0;
  for (int d = 1; d < all.ndim; ++d)
    if (x.strides[d] == item && all.shape[d] >= kWorth) return d;
  return 0;
}

template <class Word>
void move(const Operands& all) {
  const int across = dim_across(all);
  if (!across) return launch<move_elements<Word>>(grid_of(all.numel), all);
  int64_t blocks = 1;
  for (int d = 0; d < all.ndim; ++d)
    blocks *= d == 0 || d == across ? (all.shape[d] + kTile - 1) / kTile : all.shape[d];
  launch<move_tiles<Word>>({blocks, kThreads}, all, across);
}

// From iter.compute to iter.result, by way of what the operands' memory holds.
__global__ void copy_elements(const Operands all, const DType compute, const DType result) {
  const int64_t i = thread_index();
  if (i >= all.numel) return;
  char* const out = all.of[0].data + offset_of(all, 0, i);
  const DType to = all.of[0].dtype;
  switch (compute) {
#define X(name, type, text, category)                                                              \
  case DType::name: {                                                                              \
    const type value = all.of[1].data                                                              \
                           ? load_as<type>(all.of[1].data + offset_of(all, 1, i), all.of[1].dtype) \
                           : read<type>(all.of[1].number);                                         \
    if (result == DType::Bool)                                                                     \
      store_as<bool>(out, to, converted<bool>(value));                                             \
    else                                                                                           \
      store_as<type>(out, to, value);                                                              \
    break;                                                                                         \
  }
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

template <class From>
void cast(const Operands& all) {
  switch (all.of[0].dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return launch<cast_elements<type, From>>(grid_of(all.numel, all.is_packed ? kPack : 1), all);
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}
void cast(const Operands& all) {
  switch (all.of[1].dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return cast<type>(all);
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

void copy(const Iter& iter) {
  Operands all = operands_of(iter);
  const Operands::One &out = all.of[0], &x = all.of[1];
  if (!x.data || x.dtype != iter.compute || out.dtype != iter.result)
    return launch<copy_elements>(grid_of(all.numel), all, iter.compute, iter.result);
  if (x.strides[0] == 0) all.is_packed = false;  // one element for all of a pack
  if (all.is_packed || x.dtype != out.dtype || x.dtype == DType::Bool) return cast(all);
  switch (itemsize(x.dtype)) {
    case 1:
      return move<uint8_t>(all);
    case 2:
      return move<uint16_t>(all);
    case 4:
      return move<uint32_t>(all);
    default:
      return move<uint64_t>(all);
  }
}

}  // namespace

const CastTable cast_table = {copy};

}  // namespace tt::cuda
