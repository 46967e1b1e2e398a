#include "core/api/arrange.h"

#include "core/api/cast.h"
#include "core/devices/launch.h"
#include "core/result.h"
#include "core/tables/arrange.h"

namespace tt {

NDArray flip(const NDArray& x, const Dims& dims) {
  NDArray out = x.new_empty_strided(x.shape(), like_strides(x), x.dtype());
  if (x.numel() == 0) return out;
  Dims strides = x.strides();
  int64_t start = 0;
  for (int64_t dim : dims) {
    const int d = wrap_dim(dim, x.ndim());
    if (x.ndim() == 0) break;
    start += (x.shape()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  const int64_t item = itemsize(x.dtype());
  launch(x)(backend_of(x).arrange->copy_reversed, x.data() + start * item, out.data(), x.shape(),
            strides, out.strides(), item);
  return out;
}

namespace {

// out = x shifted along dims[i], dims[i + 1], ...: two slices trade places along each.
void roll_into(const NDArray& out, const NDArray& x, const Dims& shifts, const Dims& dims, int i) {
  if (x.numel() == 0) return;
  if (i == dims.size()) return copy_into(out, &x);
  const int64_t d = dims[i], n = x.shape()[d];
  const int64_t shift = (shifts[i] % n + n) % n;
  roll_into(out.slice(d, shift, n, 1), x.slice(d, 0, n - shift, 1), shifts, dims, i + 1);
  roll_into(out.slice(d, 0, shift, 1), x.slice(d, n - shift, n, 1), shifts, dims, i + 1);
}

}  // namespace

NDArray roll(const NDArray& x, const Dims& shifts, const Dims& dims) {
  NDArray out = x.new_empty(x.shape(), x.dtype());
  roll_into(out, x, shifts, dims, 0);
  return out;
}

NDArray triangle(const NDArray& x, int64_t diagonal, bool lower, const NDArray* out) {
  if (x.ndim() < 2)
    throw RuntimeError(lower ? "tril" : "triu", ": input tensor must have at least 2 dimensions");
  const bool in_place = out && out->data() == x.data() && x.is_contiguous();
  const NDArray from = contiguous(x);
  NDArray result = result_in(out, x.shape(), x.dtype(), x.device(), {in_place ? nullptr : &x});
  const int64_t rows = x.shape()[x.ndim() - 2], columns = x.shape()[x.ndim() - 1];
  // Beyond the corners all diagonals are alike.
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  if (x.numel() > 0)
    launch(x)(backend_of(x).arrange->triangle, from.data(), result.data(),
              x.numel() / (rows * columns), rows, columns, diagonal, lower, itemsize(x.dtype()));
  return result;
}

NDArray repeated_positions(const NDArray& repeats, int64_t size) {
  if (repeats.dtype() != DType::Int64 && repeats.dtype() != DType::Int32)
    throw RuntimeError("repeats has to be Long or Int tensor");
  if (repeats.ndim() > 1) throw RuntimeError("repeats must be 0-dim or 1-dim tensor");
  const NDArray counts = contiguous(converted(repeats, DType::Int64));
  const int64_t* const count = data_of<int64_t>(counts);
  const int64_t step = repeats.numel() == 1 ? 0 : 1;
  if (step == 1 && repeats.numel() != size)
    throw RuntimeError(
        "repeats must have the same size as input along dim, but got repeats.size(0) = ",
        repeats.numel(), " and input.size(0) = ", size);
  const int64_t total = launch(counts)(backend_of(counts).arrange->total_count, count, step, size);
  if (total == -1) throw RuntimeError("repeats can not be negative");
  if (total == -2) throw RuntimeError("[repeat_interleave] the size of the result overflows");
  const NDArray out = repeats.new_empty({total}, DType::Int64);
  launch(counts)(backend_of(counts).arrange->repeat, count, step, size, data_of<int64_t>(out));
  return out;
}

}  // namespace tt
