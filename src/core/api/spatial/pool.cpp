#include "core/api/spatial/pool.h"

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/spatial/nn_layout.h"
#include "core/api/spatial/resample.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/memory/allocator.h"
#include "core/shapes.h"
#include "core/tables/pool.h"
#include "core/tables/resample.h"

namespace tt {

namespace {

struct Windows {
  const Dims &kernel, &stride, &padding, &dilation;
};

// Adaptive window i of `out` over `in` positions.
int64_t adaptive_begin(int64_t i, int64_t in, int64_t out) { return i * in / out; }
int64_t adaptive_end(int64_t i, int64_t in, int64_t out) { return ceil_div((i + 1) * in, out); }

// The windows of one dim, and the memory that WindowAxis points into. A window begins with its
// first tap inside of x and has as many taps as one of them sees, however large it was asked for.
struct AxisWindows {
  WindowAxis axis;
  std::vector<int64_t> numbers;

  AxisWindows(int64_t in, int64_t out, const Windows& windows, int d) : numbers(3 * out) {
    axis.in = in;
    axis.out = out;
    const bool adaptive = windows.kernel.empty();
    axis.step = adaptive || d < 0 ? 1 : windows.dilation[d];
    // The stride of a single window may be any number: nothing is that far apart.
    axis.stride = d < 0 || out < 2 ? 1 : adaptive ? in / out : windows.stride[d];
    axis.taps = 1;
    axis.overlaps = false;
    if (adaptive) checked_mul(in, out, "max_pool");
    int64_t *start = numbers.data(), *lo = start + out, *hi = lo + out;
    for (int64_t i = 0; i < out; ++i) {
      int64_t taps = 1;
      if (d < 0) {
        start[i] = 0;
      } else if (adaptive) {
        start[i] = adaptive_begin(i, in, out);
        taps = adaptive_end(i, in, out) - start[i];
      } else {
        start[i] = i * windows.stride[d] - windows.padding[d];
        taps = windows.kernel[d];
      }
      const int64_t outside = start[i] < 0 ? ceil_div(-start[i], axis.step) : 0;
      const int64_t end = start[i] < in ? ceil_div(in - start[i], axis.step) : 0;
      if (outside >= std::min(taps, end))
        throw RuntimeError("[max_pool] a window along dim ", d, " sees nothing of the input");
      start[i] += outside * axis.step;
      lo[i] = 0;
      hi[i] = std::min(taps, end) - outside;
      axis.taps = std::max(axis.taps, hi[i]);
      if (i > 0 && start[i] <= start[i - 1] + (hi[i - 1] - 1) * axis.step) axis.overlaps = true;
    }
    axis.start = start;
    axis.lo = lo;
    axis.hi = hi;
    find_regular();
  }

 private:
  void find_regular() {
    const auto whole = [&](int64_t i) { return axis.lo[i] == 0 && axis.hi[i] == axis.taps; };
    axis.first = 0;
    while (axis.first < axis.out && !whole(axis.first)) ++axis.first;
    axis.last = axis.first;
    while (axis.last < axis.out && whole(axis.last) &&
           axis.start[axis.last] == axis.start[axis.first] + (axis.last - axis.first) * axis.stride)
      ++axis.last;
  }
};

Dims with_spatial(const NDArray& x, const Dims& size) {
  return joined({x.shape()[0], x.shape()[1]}, size);
}

// In PoolTable's order.
int kind_of(DType dtype) { return is_half(dtype) ? 1 + float_kind(dtype) : pool_kind(dtype); }

// What a call of any of the kernels takes.
struct MaxPool {
  MaxPoolArgs args;
  std::vector<AxisWindows> axes;
  std::vector<int64_t> taps;

  // `like` has the channels and, with spatial sizes y_size, the dtype of what is computed.
  MaxPool(const NDArray& like, const Dims& x_size, const Dims& y_size, const Windows& windows,
          bool channels_last) {
    const int spatial = y_size.size();
    double tables = 0;
    for (int64_t n : y_size) tables += 3.0 * sizeof(int64_t) * double(n);
    expect_memory(like, y_size, tables);
    axes.reserve(3);
    int64_t count = 1;
    for (int i = 0; i < 3; ++i) {
      const int d = i - 3 + spatial;
      axes.emplace_back(d < 0 ? 1 : x_size[d], d < 0 ? 1 : y_size[d], windows, d);
      args.axis[i] = axes.back().axis;
      count = checked_mul(count, args.axis[i].taps, "max_pool");
    }
    if (count > INT32_MAX)
      throw RuntimeError("[max_pool] a window sees ", count, " elements, at most ", INT32_MAX,
                         " are possible");
    Allocator::expect(double(count) * sizeof(int64_t));
    args.wide = count > 256;
    args.channels_last = channels_last;
    taps.resize(count);
  }

  DType where_dtype() const { return args.wide ? DType::Int32 : DType::UInt8; }

  // Calls a kernel, which writes y or, if `to_x`, x. All have a batch dim. Integers become int64,
  // and halves float32 where there is no kernel of theirs.
  void run(void (*const (&kernels)[5])(const MaxPoolArgs&), const NDArray& x, const NDArray& y,
           const NDArray& where, bool to_x = false) {
    if (y.numel() == 0) return;
    bool overlaps = false;
    for (const WindowAxis& axis : args.axis) overlaps = overlaps || axis.overlaps;
    const bool by_halves = is_half(y.dtype()) && !(to_x && overlaps) && kernels[kind_of(y.dtype())];
    const DType compute = !is_floating(y.dtype()) ? DType::Int64
                          : by_halves             ? y.dtype()
                                                  : computed_in(y.dtype());
    if (y.dtype() != compute) {
      const NDArray &from = to_x ? y : x, &to = to_x ? x : y;
      return in_parts(from, compute, to, [&](const NDArray& part, int64_t begin, int64_t end) {
        const NDArray result = empty_laid_out(
            part, with_spatial(part, spatial_of(to, to.ndim() - 2)), compute, args.channels_last);
        run(kernels, to_x ? result : part, to_x ? part : result, where.slice(0, begin, end, 1),
            to_x);
        return result;
      });
    }
    args.batch = x.shape()[0];
    args.channels = x.shape()[1];
    args.to_x = to_x;
    args.x = x.data();
    args.y = y.data();
    args.where = where.data();
    strides_of(x, args.x_strides);
    strides_of(y, args.y_strides);
    strides_of(where, args.where_strides);
    const WindowAxis* axis = args.axis;
    int64_t* tap = taps.data();
    for (int64_t d = 0; d < axis[0].taps; ++d)
      for (int64_t h = 0; h < axis[1].taps; ++h)
        for (int64_t w = 0; w < axis[2].taps; ++w)
          *tap++ = d * axis[0].step * args.x_strides[2] + h * axis[1].step * args.x_strides[3] +
                   w * axis[2].step * args.x_strides[4];
    args.tap = taps.data();
    const WithoutGil unlocked(x.numel() + y.numel() > kGilGrain);
    launch(y)(kernels[kind_of(y.dtype())], args);
  }
};

}  // namespace

std::vector<NDArray> max_pool(const NDArray& x, const Dims& size, const Dims& kernel,
                              const Dims& stride, const Dims& padding, const Dims& dilation,
                              bool channels_last) {
  const int spatial = size.size();
  if (x.dtype() == DType::Bool || (kernel.empty() && !is_floating(x.dtype())))
    throw NotImplementedError("[max_pool] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  if (kernel.empty() && x.ndim() == spatial + 2 && x.shape()[1] == 0)
    throw RuntimeError("[adaptive_max_pool] expected an input with channels, got ", x.shape());
  MaxPool pool(x, spatial_of(x, spatial), size, {kernel, stride, padding, dilation}, channels_last);
  const NDArray batch = with_batch(x, spatial);
  const NDArray y = empty_laid_out(batch, with_spatial(batch, size), x.dtype(), channels_last);
  const NDArray where = empty_laid_out(y, y.shape(), pool.where_dtype(), channels_last);
  pool.run(backend_of(y).pool->max, batch, y, where);
  return {batched_as(y, x), batched_as(where, x)};
}

NDArray max_pool_indices(const NDArray& where, const Dims& x_size, const Dims& kernel,
                         const Dims& stride, const Dims& padding, const Dims& dilation) {
  const int spatial = x_size.size();
  const NDArray batch = with_batch(where, spatial);
  const bool channels_last = looks_channels_last(batch);
  MaxPool pool(where, x_size, spatial_of(where, spatial), {kernel, stride, padding, dilation},
               channels_last);
  // An x whose elements are their own positions, the same in all planes.
  const NDArray positions =
      arange(Scalar::of_int(0), Scalar::of_int(1), checked_numel(x_size, "max_pool"), DType::Int64,
             nullptr, where.device())
          .view(x_size);
  const NDArray indices = empty_laid_out(batch, batch.shape(), DType::Int64, channels_last);
  pool.run(backend_of(where).pool->max_gather, positions.expand(with_spatial(batch, x_size)),
           indices, batch);
  return batched_as(indices, where);
}

NDArray max_pool_scatter(const NDArray& y, const NDArray& where, const Dims& x_size,
                         const Dims& kernel, const Dims& stride, const Dims& padding,
                         const Dims& dilation, bool channels_last) {
  const int spatial = x_size.size();
  if (y.shape() != where.shape())
    throw RuntimeError("[max_pool] expected a gradient of shape ", where.shape(), ", got ",
                       y.shape());
  const NDArray batch = with_batch(y, spatial);
  MaxPool pool(y, x_size, spatial_of(y, spatial), {kernel, stride, padding, dilation},
               channels_last);
  const NDArray x = empty_laid_out(batch, with_spatial(batch, x_size), y.dtype(), channels_last);
  if (y.numel() == 0)  // no window
    copy_into(x, Scalar::of_int(0));
  else
    pool.run(backend_of(x).pool->max_scatter, x, batch, with_batch(where, spatial), true);
  return batched_as(x, y);
}

NDArray max_pool_gather(const NDArray& x, const NDArray& where, const Dims& x_size,
                        const Dims& kernel, const Dims& stride, const Dims& padding,
                        const Dims& dilation, bool channels_last) {
  const int spatial = x_size.size();
  const NDArray batch = with_batch(x, spatial);
  const NDArray places = with_batch(where, spatial);
  if (spatial_of(x, spatial) != x_size || batch.shape()[0] != places.shape()[0] ||
      batch.shape()[1] != places.shape()[1])
    throw RuntimeError("[max_pool] expected a gradient of spatial sizes ", x_size, ", got ",
                       x.shape());
  MaxPool pool(where, x_size, spatial_of(where, spatial), {kernel, stride, padding, dilation},
               channels_last);
  const NDArray y = empty_laid_out(places, places.shape(), x.dtype(), channels_last);
  pool.run(backend_of(y).pool->max_gather, batch, y, places);
  return batched_as(y, x);
}

// ---- Means.

NDArray avg_pool(const NDArray& x, const Dims& size, const Dims& kernel, const Dims& stride,
                 const Dims& padding, bool count_padding, const std::optional<int64_t>& divisor,
                 bool transposed, bool channels_last) {
  if (!is_floating(x.dtype()) && (kernel.empty() || x.dtype() != DType::Int64))
    throw NotImplementedError("[avg_pool] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  const int spatial = size.size();
  const Dims x_size = transposed ? size : spatial_of(x, spatial);
  const Dims y_size = transposed ? spatial_of(x, spatial) : size;
  double sources = 0;
  for (int d = 0; d < spatial; ++d)
    sources += kernel.empty() ? double(x_size[d]) + 2 * double(y_size[d])
                              : double(y_size[d]) * double(std::min(kernel[d], x_size[d]));
  expect_tables(x, size, x_size, y_size, sources);
  std::vector<AxisMap> axes;
  for (int d = 0; d < spatial; ++d) {
    AxisMap map(x_size[d], y_size[d]);
    if (kernel.empty()) checked_mul(x_size[d], y_size[d], "avg_pool");
    for (int64_t i = 0; i < y_size[d]; ++i) {
      int64_t begin, end, count;
      if (kernel.empty()) {
        begin = adaptive_begin(i, x_size[d], y_size[d]);
        end = adaptive_end(i, x_size[d], y_size[d]);
        count = end - begin;
      } else {
        begin = i * stride[d] - padding[d];
        end = std::min(begin + kernel[d], x_size[d] + padding[d]);
        const int64_t padded = end - begin;
        begin = std::max<int64_t>(begin, 0);
        end = std::min(end, x_size[d]);
        count = count_padding ? padded : end - begin;
      }
      for (int64_t k = begin; k < end; ++k) map.source.push_back(k);
      map.end_output();
      map.divisor.push_back(double(!divisor ? count : d == 0 ? *divisor : 1));
    }
    axes.push_back(std::move(map));
  }
  return resample(x, std::move(axes), transposed, channels_last);
}

}  // namespace tt
