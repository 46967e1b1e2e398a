// softmax and log_softmax: one block per line, whose threads take every kThreads-th element.
#include "core/tables/softmax.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/block.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// y = e^(x - max) / sum, or its logarithm.
template <class T>
__global__ void softmax_line(const DeviceLines lines, const bool log_of_it) {
  const Line<T> x(lines, 0, blockIdx.x), y(lines, 1, blockIdx.x);
  T highest = -INFINITY;
  for (int64_t k = threadIdx.x; k < lines.size; k += kThreads) {
    const T value = x[k];
    highest = value > highest || value != value ? value : highest;
  }
  highest = max_of_block(highest);
  T sum = 0;
  for (int64_t k = threadIdx.x; k < lines.size; k += kThreads) sum += exp(x[k] - highest);
  sum = sum_of_block(sum);
  const T log_sum = log(sum);
  for (int64_t k = threadIdx.x; k < lines.size; k += kThreads) {
    const T shifted = x[k] - highest;
    y.set(k, log_of_it ? shifted - log_sum : exp(shifted) / sum);
  }
}

// dx = y (grad - sum(grad y)), or of the logarithm grad - e^y sum(grad).
template <class T>
__global__ void softmax_line_backward(const DeviceLines lines, const bool log_of_it) {
  const Line<T> grad(lines, 0, blockIdx.x), y(lines, 1, blockIdx.x), dx(lines, 2, blockIdx.x);
  T sum = 0;
  for (int64_t k = threadIdx.x; k < lines.size; k += kThreads)
    sum += log_of_it ? grad[k] : grad[k] * y[k];
  sum = sum_of_block(sum);
  for (int64_t k = threadIdx.x; k < lines.size; k += kThreads)
    dx.set(k, log_of_it ? grad[k] - exp(y[k]) * sum : y[k] * (grad[k] - sum));
}

Grid block_per_line(const Lines& lines) { return {lines.count, kThreads}; }

void softmax(const SoftmaxArgs& args) {
  const bool is_float = args.lines.compute == DType::Float32;
  const auto start = is_float ? launch<softmax_line<float>, DeviceLines, bool>
                              : launch<softmax_line<double>, DeviceLines, bool>;
  start(block_per_line(args.lines), on_device(args.lines), args.log);
}
void softmax_backward(const SoftmaxArgs& args) {
  const bool is_float = args.lines.compute == DType::Float32;
  const auto start = is_float ? launch<softmax_line_backward<float>, DeviceLines, bool>
                              : launch<softmax_line_backward<double>, DeviceLines, bool>;
  start(block_per_line(args.lines), on_device(args.lines), args.log);
}

}  // namespace

const SoftmaxTable softmax_table = {softmax, softmax_backward};

}  // namespace tt::cuda
