// Products of vectors along a dim: a thread per vector of three elements.
#include "core/dtypes/with_type.h"
#include "core/formulas/wrapping.h"
#include "core/tables/vectors.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// a b - c d, every product and difference rounded to T.
template <class T>
__device__ T difference(T a, T b, T c, T d) {
  if constexpr (is_half_type<T>)
    return T(static_cast<float>(T(float(a) * float(b))) -
             static_cast<float>(T(float(c) * float(d))));
  else
    return wrapping_sub(wrapping_mul(a, b), wrapping_mul(c, d));
}

template <class T>
__global__ void cross_line(const DeviceLines lines) {
  const int64_t i = thread_index();
  if (i >= lines.count) return;
  const Line<T> a(lines, 0, i), b(lines, 1, i), out(lines, 2, i);
  const T a0 = a[0], a1 = a[1], a2 = a[2], b0 = b[0], b1 = b[1], b2 = b[2];
  out.set(0, difference(a1, b2, a2, b1));
  out.set(1, difference(a2, b0, a0, b2));
  out.set(2, difference(a0, b1, a1, b0));
}

void cross(const Lines& lines) {
  with_type(lines.stream[0].dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>)
      launch<cross_line<T>>(grid_of(lines.count), on_device(lines));
  });
}

}  // namespace

const VectorsTable vectors_table = {cross};

}  // namespace tt::cuda
