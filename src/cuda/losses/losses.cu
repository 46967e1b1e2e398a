// Sums of elementwise losses, and margins between classes.
#include "core/iter.h"
#include "core/tables/losses.h"
#include "core/tables/reduce.h"
#include "cuda/infra/block.h"
#include "cuda/infra/faults.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// ---- sums of losses: the elementwise kernel writes them, a reduction sums them ------------------
template <class T>
void total_as(const TotalArgs& a) {
  const Scratch<T> losses(a.numel);
  char* const data = reinterpret_cast<char*>(losses.data());
  Iter iter(a.numel, a.dtype);
  iter.add_flat(data, false);
  for (int i = 0; i < a.count; ++i) {
    const TotalArgs::Input& input = a.inputs[i];
    if (input.data)
      iter.add_flat(input.data, input.single);
    else
      iter.add_number(input.number);
  }
  a.kernel(iter);
  const Reduce op = a.mean ? Reduce::mean : Reduce::sum;
  reduce_table.kernels[static_cast<int>(op)][static_cast<int>(a.dtype)](
      {data, a.dtype, a.dtype, a.out, {}, {}, {a.numel}, {sizeof(T)}});
}
void total(const TotalArgs& a) {
  a.dtype == DType::Float32 ? total_as<float>(a) : total_as<double>(a);
}

// ---- multilabel margin: 1 - (x[target] - x[other]), where it is positive ------------------------

// One row.
template <class T>
struct Margins {
  const T* x;
  const int64_t* targets;  // up to the first -1
  const uint8_t* is_target;
  int64_t classes;

  __device__ Margins(const MarginArgs& a, const uint8_t* marks, int64_t row)
      : x(numbers<T>(a.x) + row * a.classes),
        targets(a.targets + row * a.classes),
        is_target(marks + row * a.classes),
        classes(a.classes) {}

  __device__ T margin(int64_t target, int64_t other) const { return 1 - x[target] + x[other]; }
  __device__ bool ends(int64_t k) const { return k == classes || !is_inside(targets[k], classes); }
};

// is_target[row, class]: a thread per row.
__global__ void mark_targets(const MarginArgs a, uint8_t* const is_target) {
  const int64_t row = thread_index();
  if (row >= a.rows) return;
  const int64_t* const targets = a.targets + row * a.classes;
  uint8_t* const marks = is_target + row * a.classes;
  for (int64_t k = 0; k < a.classes; ++k) marks[k] = 0;
  for (int64_t k = 0; k < a.classes && is_inside(targets[k], a.classes); ++k) marks[targets[k]] = 1;
}

// A block per row, whose threads take the classes that are no targets.
template <class T>
__global__ void margin_row(const MarginArgs a, const uint8_t* const is_target) {
  const Margins<T> row(a, is_target, blockIdx.x);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < a.classes; i += kThreads) {
    if (row.is_target[i]) continue;
    for (int64_t k = 0; !row.ends(k); ++k)
      if (const T margin = row.margin(row.targets[k], i); margin > 0)
        sum += static_cast<double>(margin);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    numbers<T>(a.out)[blockIdx.x] = static_cast<T>(sum / static_cast<double>(a.classes));
}

// A thread per class gathers its pairs. A target that is named twice counts as two.
template <class T>
__global__ void margin_backward(const MarginArgs a, const uint8_t* const is_target) {
  const int64_t at = thread_index();
  if (at >= a.rows * a.classes) return;
  const int64_t i = at % a.classes;
  const Margins<T> row(a, is_target, at / a.classes);
  int64_t pairs = 0;
  if (row.is_target[i]) {
    for (int64_t other = 0; other < a.classes; ++other)
      pairs -= !row.is_target[other] && row.margin(i, other) > 0;
    int64_t named = 0;
    for (int64_t k = 0; !row.ends(k); ++k) named += row.targets[k] == i;
    pairs *= named;
  } else {
    for (int64_t k = 0; !row.ends(k); ++k) pairs += row.margin(row.targets[k], i) > 0;
  }
  const T share = numbers<T>(a.grad)[at / a.classes] / static_cast<T>(a.classes);
  numbers<T>(a.out)[at] = static_cast<T>(pairs) * share;
}

template <class T>
void margin(const MarginArgs& a) {
  const Scratch<uint8_t> is_target(a.rows * a.classes);
  launch<mark_targets>(grid_of(a.rows), a, is_target.data());
  if (a.grad)
    launch<margin_backward<T>>(grid_of(a.rows * a.classes), a, is_target.data());
  else
    launch<margin_row<T>>({a.rows, kThreads}, a, is_target.data());
}
void multilabel_margin(const MarginArgs& a) {
  a.dtype == DType::Float32 ? margin<float>(a) : margin<double>(a);
}

}  // namespace

const LossesTable losses_table = {total, multilabel_margin};

}  // namespace tt::cuda
