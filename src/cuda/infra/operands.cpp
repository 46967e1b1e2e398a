#include "cuda/infra/operands.h"

#include <cstring>

namespace tt::cuda {

Operands operands_of(const Iter& iter) {
  Operands all{};
  all.ndim = iter.ndim;
  all.numel = iter.numel;
  for (int d = 0; d < iter.ndim; ++d) all.shape[d] = iter.shape[d];
  all.is_packed = iter.ndim <= 1;
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
    const int64_t size = facts_of(from.dtype).size;
    all.is_packed &= !to.data || ((iter.ndim == 0 || from.strides[0] == size) &&
                                  reinterpret_cast<uintptr_t>(to.data) % (kPack * size) == 0);
  }
  return all;
}

}  // namespace tt::cuda
