#include "../glue.h"

#include <cstdint>
#include STUDENT

using Add = tt::Kernel;
TT_REPLACED(Add, add)

namespace {

void run(const tt::Iter& iter) {
  const glue::Strided to(iter, 0, sizeof(float)), x(iter, 1, sizeof(float)),
      y(iter, 2, sizeof(float));
  bool plain = iter.compute == tt::DType::Float32 && iter.result == tt::DType::Float32;
  for (int i = 0; i < iter.count; ++i) plain &= iter.operands[i].dtype == tt::DType::Float32;
  if (!plain || !to.whole || !x.whole || !y.whole) return tt_replaced_add(iter);
  const glue::Shape shape(iter);
  const auto data = [&](int i) { return reinterpret_cast<float*>(iter.operands[i].data); };
  add(data(1), data(2), data(0), shape.dims, shape.sizes, x.strides, y.strides, to.strides);
}

}  // namespace

TT_OVERRIDE_AS(tt::Kernel, add, run)
