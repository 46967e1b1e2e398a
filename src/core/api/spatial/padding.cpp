#include "core/api/spatial/padding.h"

#include "core/api/spatial/nn_layout.h"
#include "core/api/spatial/resample.h"
#include "core/tables/resample.h"

namespace tt {

namespace {

// Where in [0, size) the element is that stands at position p.
int64_t place_of(Extension mode, int64_t p, int64_t size) {
  if (mode == Extension::Circular) return ((p % size) + size) % size;
  if (mode == Extension::Reflect) p = p < 0 ? -p : p < size ? p : 2 * (size - 1) - p;
  return std::min(std::max<int64_t>(p, 0), size - 1);
}

}  // namespace

NDArray extend(const NDArray& x, int64_t mode, const Dims& in, const Dims& first, const Dims& size,
               const Dims& start, const Dims& out, bool transposed, bool channels_last) {
  if (pool_kind(x.dtype()) < 0 && !is_floating(x.dtype()))
    return astype(extend(astype(x, DType::Int64), mode, in, first, size, start, out, transposed,
                         channels_last),
                  x.dtype());
  double sources = 0;
  for (int64_t n : out) sources += double(n);
  expect_tables(x, transposed ? in : out, in, out, sources);
  std::vector<AxisMap> axes;
  for (int d = 0; d < in.size(); ++d) {
    if (first[d] < 0 || size[d] < 0 || first[d] + size[d] > in[d] || (size[d] == 0 && out[d] > 0))
      throw RuntimeError("[pad] ", size[d], " elements from ", first[d], " on of ", in[d]);
    AxisMap map(in[d], out[d]);
    for (int64_t i = 0; i < out[d]; ++i) {
      map.source.push_back(first[d] +
                           place_of(static_cast<Extension>(mode), start[d] + i, size[d]));
      map.end_output();
    }
    axes.push_back(std::move(map));
  }
  return resample(x, std::move(axes), transposed, channels_last);
}

}  // namespace tt
