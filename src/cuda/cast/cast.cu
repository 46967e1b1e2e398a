// Copies between layouts and dtypes. Four elements per thread where they lie side by side, by a
// kernel for each pair of dtypes; else one, by a kernel that asks what it reads and writes.
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// A bool may hold any byte.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class To, class From>
__global__ void cast_packs(const Operands all) {
  const int64_t first = thread_index() * kPack;
  if (first >= all.numel) return;
  const char* const from = all.of[1].data + offset_of(all, 1, first);
  const auto x = *reinterpret_cast<const Pack<Stored<From>>*>(from);
  Pack<Stored<To>> y;
  for (int j = 0; j < kPack; ++j) {
    if constexpr (std::is_same_v<From, bool>)
      y.of[j] = converted<To>(x.of[j] != 0);
    else
      y.of[j] = converted<To>(x.of[j]);
  }
  *reinterpret_cast<Pack<Stored<To>>*>(all.of[0].data + offset_of(all, 0, first)) = y;
}

// Another layout of the same dtype, whose elements are as large as a Word.
template <class Word>
__global__ void move_elements(const Operands all) {
  const int64_t i = thread_index();
  if (i >= all.numel) return;
  *reinterpret_cast<Word*>(all.of[0].data + offset_of(all, 0, i)) =
      *reinterpret_cast<const Word*>(all.of[1].data + offset_of(all, 1, i));
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
void start_packs(const Operands& all) {
  switch (all.of[0].dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return launch<cast_packs<type, From>>(grid_of(all.numel, kPack), all);
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}
void start_packs(const Operands& all) {
  switch (all.of[1].dtype) {
#define X(name, type, text, category) \
  case DType::name:                   \
    return start_packs<type>(all);
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
}

void copy(const Iter& iter) {
  const Operands all = operands_of(iter);
  const Operands::One &out = all.of[0], &x = all.of[1];
  const bool is_direct = x.data && x.dtype == iter.compute && out.dtype == iter.result;
  const Grid grid = grid_of(all.numel);
  if (is_direct && all.is_packed && x.strides[0] != 0) return start_packs(all);
  if (!is_direct || x.dtype != out.dtype || x.dtype == DType::Bool)
    return launch<copy_elements>(grid, all, iter.compute, iter.result);
  switch (itemsize(x.dtype)) {
    case 1:
      return launch<move_elements<uint8_t>>(grid, all);
    case 2:
      return launch<move_elements<uint16_t>>(grid, all);
    case 4:
      return launch<move_elements<uint32_t>>(grid, all);
    default:
      return launch<move_elements<uint64_t>>(grid, all);
  }
}

}  // namespace

const CastTable cast_table = {copy};

}  // namespace tt::cuda
