// Where a kernel writes its result: what `out=` gives, where it can be written as it is; else fresh
// memory, which `into` (tiny_torch/functions/common.py) copies. Elementwise ops write any `out`:
// elements that are an input's in place, other overlap raises or is copied (check_overlap, iter.h).
#pragma once
#include <array>

#include "core/ndarray.h"

namespace tt {

// What `out=` gives for two results.
using Outs = std::array<const NDArray*, 2>;

// `out`, if it is of this shape and dtype, contiguous, and shares no memory with what the kernel
// reads; else, or where it is null, a fresh array. The reads, too, may be null. Nothing may be
// refused any more once out is written. The caller marks it as written: `out_or_result`
// in autograd/apply.cpp.
NDArray result_in(const NDArray* out, const Dims& shape, DType dtype, const Device& device,
                  std::initializer_list<const NDArray*> reads);
// The same for kernels that write any strides: out's dims need not be next to one another.
NDArray strided_result_in(const NDArray* out, const Dims& shape, DType dtype, const Device& device,
                          std::initializer_list<const NDArray*> reads);

// Refuses an `out` that is expanded, or lies where a kernel reads: PyTorch's assert_no_overlap, or,
// where the two may be the `same` elements, its assert_no_partial_overlap.
void refuse_overlap(const NDArray& out, const NDArray& input, bool same);

// Whether a result of these is `out` itself.
inline bool is_direct(const NDArray& result, const NDArray* out) {
  return out && result.storage() == out->storage();
}

// Where a gradient like x goes, of which the kernels read each element before they write it there.
NDArray over(const NDArray& x, bool overwrite);

}  // namespace tt
