// Resampling: a linear map of each dim, one after another. A thread per element of y, which sums
// what it sees along W, and for each of those along D and H; where windows are long, a block per
// element, whose threads share them out.
#include "core/formulas/int_math.h"
#include "core/formulas/wrapping.h"
#include "core/tables/resample.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// A LinearAxis, whose arrays are the device's here.
template <class T>
struct Axis {
  const int64_t *begin, *source;
  const T *weight, *divisor;
};
template <class T>
__device__ Wrapping<T> number(const T* numbers, int64_t i) {
  return numbers ? static_cast<Wrapping<T>>(numbers[i]) : Wrapping<T>(1);
}

// The memory of an Axis. A transposed map has divisors of its inputs.
template <class T>
struct AxisMemory {
  Scratch<int64_t> begin, source;
  Scratch<T> weight, divisor;

  AxisMemory(const LinearAxis& axis, bool transposed)
      : begin(axis.begin, axis.out + 1),
        source(axis.source, axis.begin[axis.out]),
        weight(static_cast<const T*>(axis.weight), axis.weight ? axis.begin[axis.out] : 0),
        divisor(static_cast<const T*>(axis.divisor), !axis.divisor ? 0
                                                     : transposed  ? axis.in
                                                                   : axis.out) {}

  Axis<T> axis() const { return {begin.data(), source.data(), weight.data(), divisor.data()}; }
};

// ResampleArgs by value. Integers are summed unsigned, and wrap around.
template <class T>
struct Maps {
  int64_t numel, channels, size[3];
  Axis<T> axis[3];
  const T* x;
  T* y;
  int64_t x_strides[5], y_strides[5];
  Wrapping<T> weight, divisor;
  bool transposed, channels_last;

  Maps(const ResampleArgs& g, const Axis<T>& d, const Axis<T>& h, const Axis<T>& w)
      : numel(g.batch * g.channels),
        channels(g.channels),
        axis{d, h, w},
        x(static_cast<const T*>(g.x)),
        y(static_cast<T*>(g.y)),
        weight(static_cast<Wrapping<T>>(static_cast<T>(g.weight))),
        divisor(static_cast<Wrapping<T>>(static_cast<T>(g.divisor))),
        transposed(g.transposed),
        channels_last(g.channels_last) {
    for (int i = 0; i < 3; ++i) numel *= size[i] = g.axis[i].out;
    for (int i = 0; i < 5; ++i) {
      x_strides[i] = g.x_strides[i];
      y_strides[i] = g.y_strides[i];
    }
  }
};

// x / divisor of the dtype itself, as sums are of another where that is a small integer.
template <class T>
__device__ Wrapping<T> quotient(Wrapping<T> x, Wrapping<T> divisor) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<Wrapping<T>>(int_divide(static_cast<T>(x), static_cast<T>(divisor)));
  else
    return x / divisor;
}

// What an output sees along D and H of position w of x.
template <class T>
__device__ Wrapping<T> sum_of_column(const Maps<T>& g, const Pixel& to, int64_t w) {
  const Axis<T>&depth = g.axis[0], &height = g.axis[1];
  Wrapping<T> sum = 0;
  Pixel from = to;
  from.at[2] = w;
  for (int64_t i = depth.begin[to.at[0]]; i < depth.begin[to.at[0] + 1]; ++i) {
    from.at[0] = depth.source[i];
    for (int64_t j = height.begin[to.at[1]]; j < height.begin[to.at[1] + 1]; ++j) {
      from.at[1] = height.source[j];
      const auto x = static_cast<Wrapping<T>>(g.x[from.offset(g.x_strides)]);
      const auto term = g.weight * number(depth.weight, i) * number(height.weight, j) * x;
      if (g.transposed)
        sum += quotient<T>(term, g.divisor * number(depth.divisor, from.at[0]) *
                                     number(height.divisor, from.at[1]) *
                                     number(g.axis[2].divisor, w));
      else
        sum += term;
    }
  }
  return sum;
}

// What an output sees along W, of every `step`-th of its sources from the `first` on.
template <class T>
__device__ Wrapping<T> sum_of_output(const Maps<T>& g, const Pixel& to, int first, int step) {
  const Axis<T>& width = g.axis[2];
  Wrapping<T> sum = 0;
  for (int64_t k = width.begin[to.at[2]] + first; k < width.begin[to.at[2] + 1]; k += step)
    sum += number(width.weight, k) * sum_of_column(g, to, width.source[k]);
  return sum;
}

template <class T>
__device__ void finish(const Maps<T>& g, const Pixel& to, Wrapping<T> sum) {
  if (!g.transposed)
    sum = quotient<T>(sum, g.divisor * number(g.axis[0].divisor, to.at[0]) *
                               number(g.axis[1].divisor, to.at[1]) *
                               number(g.axis[2].divisor, to.at[2]));
  g.y[to.offset(g.y_strides)] = static_cast<T>(sum);
}

template <class T>
__global__ void by_threads(const Maps<T> g) {
  const int64_t index = thread_index();
  if (index >= g.numel) return;
  const Pixel to = pixel_at(index, g.channels, g.size, g.channels_last);
  finish(g, to, sum_of_output(g, to, 0, 1));
}

template <class T>
__global__ void by_blocks(const Maps<T> g) {
  const Pixel to = pixel_at(blockIdx.x, g.channels, g.size, g.channels_last);
  const auto sum = sum_of_block(sum_of_output(g, to, threadIdx.x, kThreads));
  if (threadIdx.x == 0) finish(g, to, sum);
}

template <class T>
void resample(const ResampleArgs& g) {
  const AxisMemory<T> d(g.axis[0], g.transposed), h(g.axis[1], g.transposed),
      w(g.axis[2], g.transposed);
  const Maps<T> maps(g, d.axis(), h.axis(), w.axis());
  if (maps.numel == 0) return;
  const bool are_long = g.axis[2].begin[g.axis[2].out] >= kThreads * g.axis[2].out;
  if (are_long)
    launch<by_blocks<T>>({maps.numel, kThreads}, maps);
  else
    launch<by_threads<T>>(grid_of(maps.numel), maps);
}

}  // namespace

const ResampleTable resample_table = {
    {resample<float>, resample<double>, resample<int64_t>, resample<uint8_t>}};

}  // namespace tt::cuda
