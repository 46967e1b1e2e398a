// Padding of one to three dims with elements of the array itself.
#pragma once
#include "core/ndarray.h"

namespace tt {

// How a stretch goes on beyond its ends: mirrored at the outermost elements, these repeated, or
// from the other end again.
enum class Extension : int64_t { Reflect, Replicate, Circular };

// x of shape (N, C, *) or (C, *). Of every spatial dim the `size` elements from `first` on are
// extended to both sides; the result has `out` elements of that, the first of them `start` behind
// the first one. Transposed it is the gradient, to `in` elements per dim.
NDArray extend(const NDArray& x, int64_t mode, const Dims& in, const Dims& first, const Dims& size,
               const Dims& start, const Dims& out, bool transposed, bool channels_last);

}  // namespace tt
