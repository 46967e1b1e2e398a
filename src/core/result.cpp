#include "core/result.h"

#include "core/iter.h"
#include "core/memory/before_write.h"
#include "core/memory/extent.h"

namespace tt {

namespace {

// Whether `out` is to be written as it is.
bool takes(const NDArray& out, const Dims& shape, DType dtype,
           std::initializer_list<const NDArray*> reads) {
  if (out.dtype() != dtype || out.shape() != shape) return false;
  for (const NDArray* read : reads)
    if (read && overlaps(out, *read)) return false;
  before_write(out);
  return true;
}

// Whether every element has an address of its own: each dim steps over all of those inside it.
bool is_apart(const NDArray& x) {
  if (x.is_dense()) return true;
  Dims left = x.shape(), strides = x.strides();
  int64_t reach = 0;  // of the dims so far, from the inside
  while (!left.empty()) {
    int inner = 0;
    for (int d = 1; d < left.size(); ++d)
      if (strides[d] < strides[inner]) inner = d;
    if (left[inner] > 1) {
      if (strides[inner] <= reach) return false;
      reach += (left[inner] - 1) * strides[inner];
    }
    left.erase(inner);
    strides.erase(inner);
  }
  return true;
}

}  // namespace

NDArray result_in(const NDArray* out, const Dims& shape, DType dtype, const Device& device,
                  std::initializer_list<const NDArray*> reads) {
  const bool direct = out && out->is_contiguous() && takes(*out, shape, dtype, reads);
  return direct ? *out : NDArray::empty(shape, dtype, device);
}

NDArray strided_result_in(const NDArray* out, const Dims& shape, DType dtype, const Device& device,
                          std::initializer_list<const NDArray*> reads) {
  const bool direct = out && is_apart(*out) && takes(*out, shape, dtype, reads);
  return direct ? *out : NDArray::empty(shape, dtype, device);
}

void refuse_overlap(const NDArray& out, const NDArray& input, bool same) {
  check_writable(out);
  const Overlap overlap = overlap_of(out, input);
  if (overlap == Overlap::Some || (overlap == Overlap::Same && !same && out.is_dense()))
    throw_overlap();
}

NDArray over(const NDArray& x, bool overwrite) {
  if (!overwrite || !x.is_contiguous()) return x.new_empty(x.shape(), x.dtype());
  x.mark_written();
  return x;
}

}  // namespace tt
