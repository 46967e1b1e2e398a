// Copies in another order.
#pragma once
#include "core/ndarray.h"

namespace tt {

NDArray flip(const NDArray& x, const Dims& dims);
// x shifted along some dims (each listed once); what leaves at the end comes in at the front.
NDArray roll(const NDArray& x, const Dims& shifts, const Dims& dims);
// x with zeros right of a diagonal (lower) or left of it. `out`: core/result.h; it may be x.
NDArray triangle(const NDArray& x, int64_t diagonal, bool lower, const NDArray* out);
// 0 .. size - 1, each repeated as often as `repeats` says.
NDArray repeated_positions(const NDArray& repeats, int64_t size);

}  // namespace tt
