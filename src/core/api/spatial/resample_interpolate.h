// Interpolation in one to three dims.
#pragma once
#include "core/ndarray.h"

namespace tt {

enum class Interpolation : int64_t { Nearest, NearestExact, Linear, Cubic, Lanczos };

// x of shape (N, C, *) at `size` positions per spatial dim. A `scale` says how far apart these are,
// in place of the sizes; `align_corners` puts the outermost positions on the outermost elements.
// `antialias` widens the filter where the result is smaller. Transposed it is the gradient, from
// y's sizes to x's.
NDArray interpolate(const NDArray& x, const Dims& size, int64_t mode, bool align_corners,
                    bool antialias, const std::optional<double>& scale0,
                    const std::optional<double>& scale1, const std::optional<double>& scale2,
                    bool transposed, bool channels_last);

}  // namespace tt
