#include "cuda/infra/operands.h"

#include <cstring>

namespace tt::cuda {

namespace {

bool has_packs(const Operands::One& one, int ndim) {
  const auto size = static_cast<int64_t>(facts_of(one.dtype).size), pack = kPack * size;
  bool is_aligned = reinterpret_cast<uintptr_t>(one.data) % pack == 0;
  for (int d = 1; d < ndim; ++d) is_aligned &= one.strides[d] % pack == 0;
  return is_aligned && one.strides[0] == size;
}

}  // namespace

Operands operands_of(const Iter& iter) {
  Operands all{};
  all.ndim = iter.ndim;
  all.numel = iter.numel;
  for (int d = 0; d < iter.ndim; ++d) all.shape[d] = iter.shape[d];
  all.is_packed = iter.ndim > 0 && iter.shape[0] % kPack == 0;
  const char* const begin = reinterpret_cast<const char*>(&iter);
  for (int k = 0; k < iter.count; ++k) {
    const Iter::Entry& from = iter.operands[k];
    Operands::One& to = all.of[k];
    to.dtype = from.dtype;
    for (int d = 0; d < iter.ndim; ++d) to.strides[d] = from.strides[d];
    if (from.data >= begin && from.data < begin + sizeof iter)  // a number lies in the Iter
      std::memcpy(to.number, from.data, sizeof to.number);
    else
      to.data = from.data;
    all.is_packed &=
        !to.data || (k > 0 && iter.ndim > 0 && from.strides[0] == 0) || has_packs(to, iter.ndim);
  }
  return all;
}

}  // namespace tt::cuda
