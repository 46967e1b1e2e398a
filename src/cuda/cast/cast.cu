// Copies between layouts and dtypes: one element per thread.
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

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

void copy(const Iter& iter) {
  launch<copy_elements>(grid_of(iter.numel), operands_of(iter), iter.compute, iter.result);
}

}  // namespace

const CastTable cast_table = {copy};

}  // namespace tt::cuda
