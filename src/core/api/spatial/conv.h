// Convolutions in one to three dims: y from x and w, and the two gradients, which are each other's.
#pragma once
#include "core/ndarray.h"

namespace tt {

// Shapes: x (N, C, *), w (O, C / groups, *taps), y (N, O, *). The settings have one number per
// spatial dim; padding is on both sides. All arrays have one dtype; halves are computed in float32.
// `channels_last` says how the result lies in memory.

// y, `bias` (O,) added. Its spatial sizes are `size`, or as many as fit.
NDArray conv_forward(const NDArray& x, const NDArray& w, const NDArray* bias, const Dims& stride,
                     const Dims& padding, const Dims& dilation, int64_t groups,
                     const std::optional<Dims>& size, bool channels_last);
// The gradient of x, whose spatial sizes are `size`; also the transposed convolution of y, with
// `bias` (C,) added.
NDArray conv_input(const NDArray& y, const NDArray& w, const NDArray* bias, const Dims& size,
                   const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups,
                   bool channels_last);
// The gradient of w, which has `taps` as its spatial sizes.
NDArray conv_weight(const NDArray& x, const NDArray& y, const Dims& taps, const Dims& stride,
                    const Dims& padding, const Dims& dilation, int64_t groups, bool channels_last);

// Whether taps of 3 x 3 may be computed by Winograd's minimal filtering, where that is faster: at
// first they may. Answers what held before.
bool set_winograd(bool may);

// Whether the convolution of x (or y) with w answers arrays whose channels come last.
bool conv_channels_last(const NDArray& x, const NDArray& w);

}  // namespace tt
