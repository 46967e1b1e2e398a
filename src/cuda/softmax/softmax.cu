// softmax and log_softmax: a line by a warp or a block, which reads it once (infra/held.h).
#include "core/tables/softmax.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/held.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// y = e^(x - max) / sum, or its logarithm.
template <class T, int kLanes>
__global__ void softmax_line(const DeviceLines lines, const bool log_of_it) {
  using Team = Team<kLanes>;
  if (Team::line() >= lines.count) return;
  const Line<T> y(lines, 1, Team::line());
  const Held<T, kLanes> x({lines, 0, Team::line()}, lines.size);
  T highest = -INFINITY;
  x.each([&](T value, int64_t) { highest = Larger()(value, highest); });
  highest = Team::max(highest);
  T sum = 0;
  x.each([&](T value, int64_t) { sum += exp(value - highest); });
  sum = Team::sum(sum);
  const T log_sum = log(sum);
  x.each([&](T value, int64_t k) {
    const T shifted = value - highest;
    y.set_floating(k, log_of_it ? shifted - log_sum : exp(shifted) / sum);
  });
}

// dx = y (grad - sum(grad y)), or of the logarithm grad - e^y sum(grad).
template <class T, int kLanes>
__global__ void softmax_line_backward(const DeviceLines lines, const bool log_of_it) {
  using Team = Team<kLanes>;
  if (Team::line() >= lines.count) return;
  const Line<T> dx(lines, 2, Team::line());
  const Held<T, kLanes> grad({lines, 0, Team::line()}, lines.size);
  const Held<T, kLanes> y({lines, 1, Team::line()}, lines.size);
  T sum = 0;
  grad.each(y, [&](T g, T y, int64_t) { sum += log_of_it ? g : g * y; });
  sum = Team::sum(sum);
  grad.each(y, [&](T g, T y, int64_t k) {
    dx.set_floating(k, log_of_it ? g - exp(y) * sum : y * (g - sum));
  });
}

template <class T>
void softmax_as(const SoftmaxArgs& args) {
  with_team(args.lines.count, args.lines.size, [&](const Grid& grid, auto lanes) {
    launch<softmax_line<T, lanes()>>(grid, on_device(args.lines), args.log);
  });
}
template <class T>
void softmax_backward_as(const SoftmaxArgs& args) {
  with_team(args.lines.count, args.lines.size, [&](const Grid& grid, auto lanes) {
    launch<softmax_line_backward<T, lanes()>>(grid, on_device(args.lines), args.log);
  });
}

void softmax(const SoftmaxArgs& args) {
  args.lines.compute == DType::Float32 ? softmax_as<float>(args) : softmax_as<double>(args);
}
void softmax_backward(const SoftmaxArgs& args) {
  args.lines.compute == DType::Float32 ? softmax_backward_as<float>(args)
                                       : softmax_backward_as<double>(args);
}

}  // namespace

const SoftmaxTable softmax_table = {softmax, softmax_backward};

}  // namespace tt::cuda
