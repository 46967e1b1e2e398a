// Reading and writing along one dim: by a position per element, or by one per slice.
#pragma once
#include "core/iter.h"
#include "core/result.h"
#include "core/tables/gather.h"

namespace tt {

// out[i, j] = x[index[i, j], j] for dim 0; the index has x's number of dims and is no larger
// elsewhere. `out`, in all of these: core/result.h.
NDArray gather(const NDArray& x, int64_t dim, const NDArray& index, const NDArray* out = nullptr);
// The reverse: x[index[i, j], j] = source[i, j], or combined with it by one of Place, in row-major
// order of the index. The source may be a number. Where x is `shown` to others, every position is
// checked before anything is written.
void scatter(const NDArray& x, int64_t dim, const NDArray& index, const Operand& source,
             int64_t place, bool shown);

// The slices of x at the positions of a vector, and the reverse. Positions below 0 count from the
// end if `wraps`.
NDArray index_select(const NDArray& x, int64_t dim, const NDArray& index,
                     const NDArray* out = nullptr);
void index_place(const NDArray& x, int64_t dim, const NDArray& index, const Operand& source,
                 int64_t place, bool wraps);

// Elements of x as if it were flat, at int64 positions, in their shape; and the reverse.
NDArray take(const NDArray& x, const NDArray& index, const NDArray* out = nullptr);
void put(const NDArray& x, const NDArray& index, const NDArray& source, bool accumulate);

// Whether all int64 positions of an index are in [0, size).
bool are_inside(const NDArray& index, int64_t size);

}  // namespace tt
