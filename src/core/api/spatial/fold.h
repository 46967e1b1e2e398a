// Images as columns, one per window, and sums of columns as images.
#pragma once
#include "core/ndarray.h"

namespace tt {

// The settings have two numbers each. image (N, C, H, W) -> columns (N, C * taps, windows).
NDArray unfold_image(const NDArray& image, const Dims& taps, const Dims& dilation,
                     const Dims& padding, const Dims& stride);
// columns -> the image of this size whose elements are the sums of all that shows them.
NDArray fold_image(const NDArray& columns, const Dims& size, const Dims& taps, const Dims& dilation,
                   const Dims& padding, const Dims& stride);

}  // namespace tt
