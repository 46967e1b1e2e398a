#include "core/api/index/gather.h"

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/devices/launch.h"
#include "core/memory/before_write.h"
#include "core/tables/gather.h"

namespace tt {

namespace {

// int64, and a copy where a write to x would change it after its bounds were checked.
NDArray positions_of(const NDArray& index, const NDArray* written = nullptr) {
  const bool copies =
      index.dtype() != DType::Int64 || (written && index.storage() == written->storage());
  return copies ? astype(index, DType::Int64) : index;
}

void check_index_dtype(const char* op, const NDArray& index) {
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
    throw RuntimeError(op, "(): Expected dtype int32/int64 for index, got ", index.dtype());
}

// The first position that is not in [low, size); there is one.
int64_t first_outside(const NDArray& index, int64_t size, int64_t low) {
  const HostElements<int64_t> positions(index);
  int64_t position = 0;
  for (int64_t k = 0; k < positions.size(); ++k) {
    position = positions[k];
    if (position < low || position >= size) break;
  }
  return position;
}

// Throws for the first position that is not there; `op` begins the message.
template <class E>
[[noreturn]] void throw_outside(const NDArray& index, int64_t size, int64_t low, int dim,
                                const char* op = "") {
  throw E(op, "index ", first_outside(index, size, low), " is out of bounds for dimension ", dim,
          " with size ", size);
}

int64_t size_at(const NDArray& array, int dim) { return array.ndim() ? array.shape()[dim] : 1; }
int64_t stride_at(const NDArray& array, int dim) { return array.ndim() ? array.strides()[dim] : 0; }

// Whether dims and sizes of the three fit; false where there is nothing to do.
bool check_shapes(const NDArray& x, int dim, const NDArray& index, const NDArray* source) {
  if (index.numel() == 0) return false;
  if (std::max(index.ndim(), 1) != std::max(x.ndim(), 1) ||
      (source && std::max(source->ndim(), 1) != std::max(x.ndim(), 1)))
    throw RuntimeError("Index tensor must have the same number of dimensions as ",
                       source ? "self and src" : "input", " tensor: index ", index.shape(),
                       ", input ", x.shape());
  for (int d = 0; d < std::max(x.ndim(), 1); ++d) {
    const int64_t n = size_at(index, d);
    if ((d != dim && n > size_at(x, d)) || (source && n > size_at(*source, d)))
      throw RuntimeError(
          "Size does not match at dimension ", d, " expected index ", index.shape(),
          " to be no larger than self ", x.shape(), " apart from dimension ", dim,
          source ? format(" and to be no larger size than src ", source->shape()) : std::string());
  }
  return true;
}

// What all ways have in common.
AlongArgs args_of(const NDArray& x, const NDArray& index, const NDArray& other) {
  AlongArgs args{};
  args.dtype = x.dtype();
  args.is_dense = x.is_dense();
  args.x = x.data();
  args.other = other.data();
  args.index = index.data();
  return args;
}

// Lines along `dim`, of the index's size there and in the other dims; or, if the index is a vector
// of a position per slice, of x's size in those.
AlongArgs along(const NDArray& x, int dim, const NDArray& index, const NDArray& other,
                bool slices = false) {
  AlongArgs args = args_of(x, index, other);
  const NDArray& shown = slices ? x : index;
  for (int d = 0; d < shown.ndim(); ++d) {
    if (d == dim) continue;
    args.lines.push_back(shown.shape()[d]);
    args.x_lines.push_back(x.strides()[d]);
    args.other_lines.push_back(stride_at(other, d));
    args.index_lines.push_back(slices ? 0 : index.strides()[d]);
  }
  args.count = slices ? index.numel() : size_at(index, dim);
  args.other_step = stride_at(other, dim);
  args.index_step = stride_at(index, slices ? 0 : dim);
  args.size = size_at(x, dim);
  args.stride = stride_at(x, dim);
  return args;
}

// What is written: as it was before x is, in x's dtype.
NDArray source_of(const NDArray& x, const Operand& source) {
  const NDArray* array = as_array(source);
  if (!array) return new_full(x, {}, std::get<Scalar>(source), x.dtype());
  return apart(*array, x);
}

void check_same_dtype(const char* op, const NDArray& x, const Operand& source) {
  const NDArray* array = as_array(source);
  if (array && x.dtype() != array->dtype())
    throw RuntimeError(op, "(): Expected self.dtype to be equal to src.dtype, got ", x.dtype(),
                       " and ", array->dtype());
}

// `shown`: nothing is written if a position is outside.
bool pick(const NDArray& x, const AlongArgs& args, bool shown) {
  return (!shown || launch(x)(backend_of(x).gather->inside, args)) &&
         launch(x)(backend_of(x).gather->pick, args);
}

}  // namespace

bool are_inside(const NDArray& index, int64_t size) {
  const NDArray flat = contiguous(index);
  AlongArgs args{};
  args.count = flat.numel();
  args.index_step = 1;
  args.size = size;
  args.index = flat.data();
  return launch(index)(backend_of(index).gather->inside, args);
}

NDArray gather(const NDArray& x, int64_t dim, const NDArray& index, const NDArray* wanted) {
  const int d = wrap_dim(dim, x.ndim());
  if (!check_shapes(x, d, index, nullptr)) return x.new_empty(index.shape(), x.dtype());
  check_index_dtype("gather", index);
  const NDArray positions = positions_of(index);
  NDArray out = strided_result_in(wanted, index.shape(), x.dtype(), x.device(), {&x, &positions});
  const AlongArgs args = along(x, d, positions, out);
  if (args.size == 0 || !pick(x, args, is_direct(out, wanted)))
    throw_outside<RuntimeError>(positions, args.size, 0, d);
  return out;
}

void scatter(const NDArray& x, int64_t dim, const NDArray& index, const Operand& source,
             int64_t place, bool shown) {
  check_same_dtype("scatter", x, source);
  check_writable(x);
  const int d = wrap_dim(dim, x.ndim());
  if (!check_shapes(x, d, index, as_array(source))) return;
  check_index_dtype("scatter", index);
  if (shown) {
    refuse_overlap(x, index, false);
    if (auto other = as_array(source)) refuse_overlap(x, *other, false);
  }
  const NDArray positions = positions_of(index, &x);
  NDArray from = source_of(x, source);
  if (!as_array(source)) from = from.expand(positions.shape());
  const AlongArgs args = along(x, d, positions, from);
  auto refuse = [&] { throw_outside<RuntimeError>(positions, args.size, 0, d); };
  if (args.size == 0 || (shown && !launch(x)(backend_of(x).gather->inside, args))) refuse();
  x.mark_written();
  if (!launch(x)(backend_of(x).gather->place, args, static_cast<Place>(place))) refuse();
}

NDArray index_select(const NDArray& x, int64_t dim, const NDArray& index, const NDArray* wanted) {
  const int d = wrap_dim(dim, x.ndim());
  if (index.ndim() > 1)
    throw IndexError("index_select(): Index is supposed to be a vector, got ", index.shape());
  check_index_dtype("index_select", index);
  Dims shape = x.shape();
  if (x.ndim()) shape[d] = index.numel();
  if (!x.ndim() && index.numel() != 1)
    throw RuntimeError("index_select(): Index to scalar can have only 1 value, got ", index.numel(),
                       " value(s)");
  const NDArray positions = positions_of(index);
  // No kernel looks at the positions of a result without elements.
  if (x.numel() == 0 && x.ndim() > 1 && !are_inside(positions, x.shape()[d]))
    throw RuntimeError("INDICES element is out of DATA bounds, id=",
                       first_outside(positions, x.shape()[d], 0), " axis_dim=", x.shape()[d]);
  NDArray out = strided_result_in(wanted, shape, x.dtype(), x.device(), {&x, &positions});
  const AlongArgs args = along(x, d, positions, out, true);
  const bool fine = out.numel() > 0 && args.size > 0
                        ? pick(x, args, is_direct(out, wanted))
                        : launch(x)(backend_of(x).gather->inside, args);
  if (!fine) throw IndexError("index out of range in self");
  return out;
}

void index_place(const NDArray& x, int64_t dim, const NDArray& index, const Operand& source,
                 int64_t place, bool wraps) {
  const int d = wrap_dim(dim, x.ndim());
  wraps ? before_write(x) : check_writable(x);  // index_fill_ may write to an expanded tensor
  const NDArray positions = positions_of(index, &x);
  const NDArray from = source_of(x, source);
  AlongArgs args = along(x, d, positions, from, true);
  args.wraps = wraps;
  if (!launch(x)(backend_of(x).gather->inside, args)) {
    if (wraps) throw_outside<IndexError>(positions, args.size, -args.size, d);
    if (static_cast<Place>(place) != Place::Add)
      throw_outside<IndexError>(positions, args.size, 0, d, "index_copy_(): ");
    if (x.ndim() < 2) throw IndexError("index out of range in self");  // as PyTorch's loop over one
    throw_outside<RuntimeError>(positions, args.size, 0, d);
  }
  write_into(x, [&] {
    if (x.numel() > 0 && args.count > 0)
      launch(x)(backend_of(x).gather->place, args, static_cast<Place>(place));
  });
}

namespace {

AlongArgs along_flat(const NDArray& x, const NDArray& index, const NDArray& other) {
  AlongArgs args = args_of(x, index, other);
  args.count = index.numel();
  args.other_step = args.index_step = args.stride = 1;
  args.size = x.numel();
  args.wraps = true;
  return args;
}

void check_take(const char* op, const NDArray& x, const NDArray& index) {
  if (index.dtype() != DType::Int64)
    throw RuntimeError(op, "(): Expected a long tensor for index, but got ", index.dtype());
  if (x.numel() == 0 && index.numel() > 0)
    throw IndexError(op, "(): tried to take from an empty tensor");
}

}  // namespace

NDArray take(const NDArray& x, const NDArray& index, const NDArray* wanted) {
  check_take("take", x, index);
  const NDArray flat = contiguous(x), positions = contiguous(index);
  NDArray out = result_in(wanted, index.shape(), x.dtype(), x.device(), {&x, &positions});
  const AlongArgs args = along_flat(flat, positions, out);
  if (!pick(x, args, is_direct(out, wanted)))
    throw_outside<IndexError>(positions, args.size, -args.size, 0);
  return out;
}

void put(const NDArray& x, const NDArray& index, const NDArray& source, bool accumulate) {
  check_same_dtype("put_", x, &source);
  check_take("put_", x, index);
  if (index.numel() != source.numel())
    throw IndexError(
        "put_(): Expected source and index to have the same number of elements, but got "
        "source.numel() = ",
        source.numel(), ", index.numel() = ", index.numel());
  check_writable(x);
  const NDArray flat = contiguous(x), positions = contiguous(positions_of(index, &x));
  const NDArray from = contiguous(source_of(x, &source));
  const AlongArgs args = along_flat(flat, positions, from);
  if (!launch(x)(backend_of(x).gather->inside, args))
    throw_outside<IndexError>(positions, args.size, -args.size, 0);
  launch(x)(backend_of(x).gather->place, args, accumulate ? Place::Add : Place::Set);
  if (!(flat.storage() == x.storage())) copy_into(x, &flat);
  x.mark_written();
}

}  // namespace tt
