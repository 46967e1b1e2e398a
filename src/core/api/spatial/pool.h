// Max and average pooling in one to three dims.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// x has shape (N, C, *) or (C, *). The settings have one number per spatial dim; `size` are the
// spatial sizes of what is computed. Without a kernel pooling is adaptive: output i of n sees the
// positions from floor(i * in / n) to ceil((i + 1) * in / n). `channels_last` is of the result.
// The largest of every window, and which tap that is (uint8, or int32 where there are more taps).
std::vector<NDArray> max_pool(const NDArray& x, const Dims& size, const Dims& kernel,
                              const Dims& stride, const Dims& padding, const Dims& dilation,
                              bool channels_last);
// Those taps as positions in x's plane (int64).
NDArray max_pool_indices(const NDArray& where, const Dims& x_size, const Dims& kernel,
                         const Dims& stride, const Dims& padding, const Dims& dilation);
// The gradient: y's elements at those taps, 0 elsewhere.
NDArray max_pool_scatter(const NDArray& y, const NDArray& where, const Dims& x_size,
                         const Dims& kernel, const Dims& stride, const Dims& padding,
                         const Dims& dilation, bool channels_last);
// And the reverse: x's elements at those taps.
NDArray max_pool_gather(const NDArray& x, const NDArray& where, const Dims& x_size,
                        const Dims& kernel, const Dims& stride, const Dims& padding,
                        const Dims& dilation, bool channels_last);

// Means of windows; `divisor`, where given, in place of their numbers of elements, which count the
// padding if `count_padding`. Transposed it is the gradient, from y's sizes to x's.
NDArray avg_pool(const NDArray& x, const Dims& size, const Dims& kernel, const Dims& stride,
                 const Dims& padding, bool count_padding, const std::optional<int64_t>& divisor,
                 bool transposed, bool channels_last);

}  // namespace tt
