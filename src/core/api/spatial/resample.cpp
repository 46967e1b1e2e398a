#include "core/api/spatial/resample.h"

#include <cmath>

#include "core/api/cast.h"
#include "core/api/elementwise.h"
#include "core/api/spatial/nn_layout.h"
#include "core/devices/gil.h"
#include "core/devices/launch.h"
#include "core/tables/resample.h"

namespace tt {

namespace {

// Outputs become inputs. The divisors stay those of the former outputs.
AxisMap transpose(const AxisMap& map) {
  AxisMap turned(map.out, map.in);
  turned.begin.assign(map.in + 1, 0);
  for (int64_t source : map.source) ++turned.begin[source + 1];
  for (int64_t i = 0; i < map.in; ++i) turned.begin[i + 1] += turned.begin[i];
  std::vector<int64_t> next = turned.begin;
  turned.source.resize(map.source.size());
  turned.weight.resize(map.weight.size());
  turned.divisor = map.divisor;
  for (int64_t i = 0; i < map.out; ++i) {
    for (int64_t k = map.begin[i]; k < map.begin[i + 1]; ++k) {
      const int64_t place = next[map.source[k]]++;
      turned.source[place] = i;
      if (!map.weight.empty()) turned.weight[place] = map.weight[k];
    }
  }
  return turned;
}

// The map of a single position to itself.
AxisMap unit() {
  AxisMap map(1, 1);
  map.source.push_back(0);
  map.end_output();
  return map;
}

bool is_single(const AxisMap& map, bool transposed) {
  const int64_t one = transposed ? map.in : map.out, all = transposed ? map.out : map.in;
  return one == 1 && map.weight.empty() && static_cast<int64_t>(map.source.size()) == all;
}

// Two dims of which only one sum is taken (or that one element is spread over) are one long dim, if
// x is laid out that way.
void merge_dims(std::vector<AxisMap>& axes, int64_t* strides, bool transposed) {
  for (int d = 1; d >= 0; --d) {
    AxisMap &outer = axes[d], &inner = axes[2];
    if (!is_single(outer, transposed) || !is_single(inner, transposed)) return;
    if (outer.in > 1 && strides[d + 2] != inner.in * strides[4]) return;
    const double divisor = (outer.divisor.empty() ? 1 : outer.divisor[0]) *
                           (inner.divisor.empty() ? 1 : inner.divisor[0]);
    AxisMap merged(outer.in * inner.in, outer.out * inner.out);
    for (int64_t i = 0; i < merged.out; ++i) {
      for (int64_t k = 0; k < merged.in; ++k) merged.source.push_back(k);
      merged.end_output();
    }
    if (divisor != 1) merged.divisor.push_back(divisor);
    outer = unit();
    inner = std::move(merged);
  }
}

// Whether dims will be merged, but for the strides of x: the order of a sum follows from its shape.
bool must_be_dense(const NDArray& x, const std::vector<AxisMap>& axes) {
  for (int d = static_cast<int>(axes.size()) - 2; d >= 0; --d) {
    if (!is_single(axes[d], false) || !is_single(axes[d + 1], false)) return false;
    if (axes[d].in > 1 && x.strides()[d + 2] != axes[d + 1].in * x.strides()[d + 3]) return true;
  }
  return false;
}

// Finds a stretch of outputs that a plain loop can compute.
void find_regular(const AxisMap& map, LinearAxis& axis) {
  axis.first = axis.last = map.out;  // unless one is found
  axis.taps = 0;
  axis.step = axis.repeat = 1;
  const auto count = [&](int64_t i) { return map.begin[i + 1] - map.begin[i]; };
  const auto source = [&](int64_t i) { return map.source[map.begin[i]]; };
  if (!map.weight.empty()) {
    bool same = map.out > 0;
    for (int64_t i = 0; i < map.out; ++i) same = same && count(i) == count(0);
    axis.taps = same ? count(0) : 0;
    return;
  }
  const int64_t middle = map.out / 2;
  if (map.out == 0 || count(middle) == 0) return;
  axis.taps = count(middle);
  for (int64_t i = 0; i < map.out; ++i)  // all must be neighbours
    for (int64_t k = 1; k < count(i); ++k)
      if (map.source[map.begin[i] + k] != source(i) + k) return;
  if (axis.taps == 1) {
    int64_t repeat = 1;
    while (repeat < map.out && count(repeat) == 1 && source(repeat) == source(0)) ++repeat;
    if (repeat > 1 && count(0) == 1) {
      axis.first = axis.last = 0;
      while (axis.last < map.out && count(axis.last) == 1 &&
             source(axis.last) == source(0) + axis.last / repeat)
        ++axis.last;
      axis.last -= axis.last % repeat;
      axis.repeat = repeat;
      if (axis.last > middle) return;
      axis.repeat = 1;  // an end that repeats its outermost element
    }
  }
  int64_t last = middle + 1;
  if (last < map.out && count(last) == axis.taps) axis.step = source(last) - source(middle);
  const auto fits = [&](int64_t i) {
    return count(i) == axis.taps && source(i) == source(middle) + (i - middle) * axis.step;
  };
  int64_t first = middle;
  while (first > 0 && fits(first - 1)) --first;
  while (last < map.out && fits(last)) ++last;
  axis.first = first;
  axis.last = last;
}

// The product of what divides all outputs of an axis alike, which is taken out of the axes.
double common_divisor(std::vector<AxisMap>& axes) {
  double product = 1;
  for (AxisMap& map : axes) {
    bool same = !map.divisor.empty();
    for (double divisor : map.divisor) same = same && divisor == map.divisor[0];
    if (!same) continue;
    product *= map.divisor[0];
    map.divisor.clear();
  }
  return product;
}

template <class T>
const T* numbers_of(const std::vector<double>& numbers, std::vector<T>& memory) {
  if (numbers.empty()) return nullptr;
  memory.assign(numbers.begin(), numbers.end());
  return memory.data();
}

template <class T>
void run(const NDArray& x, int kind, ResampleArgs& args, const std::vector<AxisMap>& axes) {
  std::vector<T> weights[3], divisors[3];
  args.item = sizeof(T);
  for (int d = 0; d < 3; ++d) {
    const AxisMap& map = axes[d];
    LinearAxis& axis = args.axis[d];
    axis.in = map.in;
    axis.out = map.out;
    axis.begin = map.begin.data();
    axis.source = map.source.data();
    find_regular(map, axis);
    axis.weight = numbers_of(map.weight, weights[d]);
    axis.divisor = numbers_of(map.divisor, divisors[d]);
  }
  launch(x)(backend_of(x).resample->resample[kind], args);
}

// Every output of the transposed maps is the one input there is, divided: that once, and a copy.
NDArray spread(const NDArray& x, const std::vector<AxisMap>& axes, const Dims& shape,
               bool channels_last) {
  double divisor = 1;
  for (const AxisMap& map : axes) divisor *= map.divisor.empty() ? 1 : map.divisor[0];
  const NDArray y = empty_laid_out(x, shape, x.dtype(), channels_last);
  const NDArray divided = binary(Binary::div, &x, Scalar::of_double(divisor)).expand(shape);
  copy_into(y, &divided);
  return y;
}

}  // namespace

void expect_tables(const NDArray& x, const Dims& size, const Dims& in, const Dims& out,
                   double sources, bool weights) {
  double numbers = sources * (weights ? 3 : 1);  // weights in double and in x's dtype
  for (int64_t n : in) numbers += double(n);
  for (int64_t n : out) numbers += 3.0 * double(n);  // where they begin, divisors as the weights
  expect_memory(x, size, numbers * sizeof(int64_t));
}

NDArray resample(const NDArray& x, std::vector<AxisMap>&& axes, bool transposed,
                 bool channels_last) {
  const int spatial = static_cast<int>(axes.size());
  NDArray batch = with_batch(x, spatial);
  if (pool_kind(batch.dtype()) < 0 && !is_half(x.dtype()))
    throw NotImplementedError("[resample] is not implemented for ", x.dtype(), " on ",
                              x.device().name);
  Dims shape{batch.shape()[0], batch.shape()[1]};
  for (int d = 0; d < spatial; ++d) {
    if (batch.shape()[d + 2] != (transposed ? axes[d].out : axes[d].in))
      throw RuntimeError("[resample] sizes do not fit an array of shape ", x.shape());
    shape.push_back(transposed ? axes[d].in : axes[d].out);
  }
  bool spreads = transposed && is_floating(x.dtype()), grows = false;
  for (const AxisMap& map : axes) {
    spreads = spreads && is_single(map, false);
    grows = grows || map.in > 1;
  }
  if (spreads && grows) return batched_as(spread(batch, axes, shape, channels_last), x);
  // In ResampleTable's order.
  const int kind = is_half(x.dtype()) ? 4 + (x.dtype() == DType::BFloat16) : pool_kind(x.dtype());
  if (!backend_of(x).resample->resample[kind]) {
    const NDArray y = empty_laid_out(x, shape, x.dtype(), channels_last);
    in_parts(batch, DType::Float32, y, [&](const NDArray& part, int64_t, int64_t) {
      return resample(part, std::vector<AxisMap>(axes), transposed, channels_last);
    });
    return batched_as(y, x);
  }
  if (!transposed && must_be_dense(batch, axes)) {
    const NDArray dense = empty_laid_out(batch, batch.shape(), batch.dtype(), channels_last);
    copy_into(dense, &batch);
    batch = dense;
  }
  const NDArray y = empty_laid_out(batch, shape, batch.dtype(), channels_last);
  if (transposed)
    for (AxisMap& map : axes) map = transpose(map);
  axes.insert(axes.begin(), 3 - spatial, unit());
  ResampleArgs args;
  args.batch = shape[0];
  args.channels = shape[1];
  args.x = batch.data();
  args.y = y.data();
  strides_of(batch, args.x_strides);
  strides_of(y, args.y_strides);
  args.transposed = transposed;
  args.channels_last = channels_last;
  merge_dims(axes, args.x_strides, transposed);
  args.divisor = common_divisor(axes);
  args.weight = 1;
  int exponent;
  if (is_floating(x.dtype()) && std::abs(std::frexp(args.divisor, &exponent)) == 0.5) {
    args.weight = 1 / args.divisor;  // a power of two: exact, and faster
    args.divisor = 1;
  }
  if (y.numel() > 0) {
    const WithoutGil unlocked(batch.numel() + y.numel() > kGilGrain);
    constexpr decltype(&run<float>) kRuns[] = {run<float>,   run<double>, run<int64_t>,
                                               run<uint8_t>, run<float>,  run<float>};
    kRuns[kind](y, kind, args, axes);
  }
  return batched_as(y, x);
}

}  // namespace tt
