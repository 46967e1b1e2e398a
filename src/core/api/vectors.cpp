#include "core/api/vectors.h"

#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/lines_of.h"
#include "core/tables/vectors.h"

namespace tt {

NDArray cross(const NDArray& a, const NDArray& b, int64_t dim) {
  const NDArray out = a.new_empty(broadcast(a.shape(), b.shape()), a.dtype());
  const NDArray x = a.expand(out.shape()), y = b.expand(out.shape());
  const Lines lines = lines_of(out.shape(), wrap_dim(dim, out.ndim()), a.dtype(), {&x, &y, &out});
  const WithoutGil unlocked(out.numel() > kGilGrain);
  launch(a)(backend_of(a).vectors->cross, lines);
  return out;
}

}  // namespace tt
