#include "core/api/nn/softmax.h"

#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/lines_of.h"
#include "core/result.h"
#include "core/tables/softmax.h"

namespace tt {

NDArray softmax(const NDArray& x, int64_t dim, bool log, const NDArray* out) {
  check_floating(log ? "log_softmax" : "softmax", x.dtype());
  const int at = wrap_dim(dim, x.ndim());
  if (x.ndim() == 0) return softmax(x.view({1}), 0, log).view({});
  NDArray y = result_in(out, x.shape(), x.dtype(), x.device(), {&x});
  if (y.numel() > 0)
    launch(x)(backend_of(x).softmax->softmax,
              {lines_of(x.shape(), at, computed_in(x.dtype()), {&x, &y}), log});
  return y;
}

NDArray softmax_backward(const NDArray& grad, const NDArray& y, int64_t dim, bool log,
                         bool overwrite) {
  const int at = wrap_dim(dim, y.ndim());
  if (grad.shape() != y.shape())
    throw RuntimeError("[softmax] expected a gradient of shape ", y.shape(), ", got ",
                       grad.shape());
  if (y.ndim() == 0)
    return softmax_backward(grad.view({1}), y.view({1}), 0, log, overwrite).view({});
  NDArray dx = over(y, overwrite);
  if (dx.numel() > 0)
    launch(y)(backend_of(y).softmax->softmax_backward,
              {lines_of(y.shape(), at, computed_in(y.dtype()), {&grad, &y, &dx}), log});
  return dx;
}

}  // namespace tt
