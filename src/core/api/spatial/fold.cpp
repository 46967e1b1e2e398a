#include "core/api/spatial/fold.h"

#include "core/api/cast.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/fold.h"

namespace tt {

namespace {

FoldArgs make_args(const Dims& size, const Dims& taps, const Dims& dilation, const Dims& padding,
                   const Dims& stride) {
  FoldArgs g;
  for (int d = 0; d < 2; ++d) {
    g.size[d] = size[d];
    g.taps[d] = taps[d];
    g.dilation[d] = dilation[d];
    g.padding[d] = padding[d];
    g.stride[d] = stride[d];
    const int64_t room = window_room(size[d], padding[d], dilation[d], taps[d], "fold");
    g.windows[d] = room < 0 ? 0 : room / stride[d] + 1;
  }
  return g;
}

void run(void (*const (&kernels)[2])(const FoldArgs&), FoldArgs& g, const NDArray& image,
         const NDArray& columns) {
  if (image.numel() == 0) return;
  g.batch = image.shape()[0];
  g.channels = image.shape()[1];
  g.image = image.data();
  g.columns = columns.data();
  std::copy_n(image.strides().begin(), 4, g.image_strides);
  std::copy_n(columns.strides().begin(), 3, g.column_strides);
  const WithoutGil unlocked(columns.numel() > kGilGrain);
  launch(image)(kernels[image.dtype() == DType::Float64], g);
}

NDArray computed(const NDArray& x, const char* name) {
  check_floating(name, x.dtype());
  return converted(x, computed_in(x.dtype()));
}

}  // namespace

NDArray unfold_image(const NDArray& image, const Dims& taps, const Dims& dilation,
                     const Dims& padding, const Dims& stride) {
  const NDArray x = computed(image, "unfold");
  FoldArgs g = make_args({x.shape()[2], x.shape()[3]}, taps, dilation, padding, stride);
  const int64_t seen = checked_mul(taps[0], taps[1], "unfold");
  const NDArray columns = x.new_empty({x.shape()[0], checked_mul(x.shape()[1], seen, "unfold"),
                                       checked_mul(g.windows[0], g.windows[1], "unfold")},
                                      x.dtype());
  run(backend_of(x).fold->unfold, g, x, columns);
  return converted(columns, image.dtype());
}

NDArray fold_image(const NDArray& columns, const Dims& size, const Dims& taps, const Dims& dilation,
                   const Dims& padding, const Dims& stride) {
  const NDArray x = computed(columns, "fold");
  FoldArgs g = make_args(size, taps, dilation, padding, stride);
  const int64_t seen = checked_mul(taps[0], taps[1], "fold");
  const int64_t windows = checked_mul(g.windows[0], g.windows[1], "fold");
  if (x.ndim() != 3 || x.shape()[1] % seen || x.shape()[2] != windows)
    throw RuntimeError("[fold] expected columns (N, C * ", seen, ", ", windows, "), got ",
                       columns.shape());
  const NDArray image =
      x.new_empty({x.shape()[0], x.shape()[1] / seen, size[0], size[1]}, x.dtype());
  run(backend_of(x).fold->fold, g, image, x);
  return converted(image, columns.dtype());
}

}  // namespace tt
