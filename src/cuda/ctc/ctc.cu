// Connectionist temporal classification (Graves et al. 2006), forward and backward.
//
// A block takes one of the batch, its threads the places s, one time after the other; the gradient
// is a thread's for each time and class.
#include "core/formulas/ctc.h"
#include "core/tables/ctc.h"
#include "cuda/infra/faults.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

__global__ void find_outside(const CtcArgs a, Fault* const outside) {
  const int64_t b = blockIdx.x;
  for (int64_t k = threadIdx.x; k < a.target_lengths[b]; k += kThreads) {
    const int64_t label = a.targets[a.starts[b] + k];
    if (!is_inside(label, a.classes)) tell(outside, label, a.classes);
  }
}

template <class T>
__global__ void ctc_alpha(const CtcArgs a) {
  const int64_t b = blockIdx.x;
  const Sequence<T> seq(a, b);
  T* alpha = numbers<T>(a.alpha) + b * a.times * a.width;
  for (int64_t t = 0; t < seq.times; ++t) {
    const T* const before = alpha;
    if (t > 0) alpha += a.width;
    for (int64_t s = threadIdx.x; s < seq.places; s += kThreads) {
      T paths = s < 2 ? T(0) : kNever<T>;
      if (t > 0) paths = seq.paths_to(s, before);
      alpha[s] = paths + seq.at(t, seq.label(s));
    }
    __syncthreads();
  }
  if (threadIdx.x > 0) return;
  T& loss = numbers<T>(a.loss)[b];
  if (seq.times == 0)
    loss = seq.places == 1 ? T(0) : T(INFINITY);
  else
    loss = seq.loss(alpha);
}

// Makes of beta what all paths through a place have: alpha[t, s] + beta[t, s]. `rows` are two rows
// of beta per sequence, that of this time and that of the next.
template <class T>
__global__ void ctc_beta(const CtcArgs a, T* const rows, T* const paths_through) {
  const int64_t b = blockIdx.x;
  const Sequence<T> seq(a, b);
  for (int64_t t = seq.times - 1; t >= 0; --t) {
    const int64_t row = (b * a.times + t) * a.width;
    T* const beta = rows + (2 * b + t % 2) * a.width;
    const T* const after = rows + (2 * b + (t + 1) % 2) * a.width;
    for (int64_t s = threadIdx.x; s < seq.places; s += kThreads) {
      T paths = s >= seq.places - 2 ? T(0) : kNever<T>;
      if (t < seq.times - 1) paths = seq.paths_from(s, after);
      beta[s] = paths + seq.at(t, seq.label(s));
      paths_through[row + s] = numbers<T>(a.alpha)[row + s] + beta[s];
    }
    __syncthreads();
  }
}

// dx[t, b, c] gathers the places that have the class c.
template <class T>
__global__ void ctc_gradient(const CtcArgs a, const T* const paths_through) {
  const int64_t i = thread_index();
  if (i >= a.times * a.batch * a.classes) return;
  const int64_t c = i % a.classes, b = i / a.classes % a.batch, t = i / a.classes / a.batch;
  const Sequence<T> seq(a, b);
  const T loss = numbers<T>(a.loss)[b];
  const T grad = numbers<T>(a.grad)[b];
  if (t >= seq.times || (a.zero_infinity && loss == -kNever<T>)) return;
  const T* const through = paths_through + (b * a.times + t) * a.width;
  T paths = kNever<T>;
  for (int64_t s = 0; s < seq.places; ++s)
    if (seq.label(s) == c) paths = log_add(paths, through[s]);
  numbers<T>(a.out)[i] = seq.gradient(t, c, paths, loss, grad);
}

Grid block_per_sequence(const CtcArgs& a) { return {a.batch, kThreads}; }

template <class T>
void backward(const CtcArgs& a) {
  const Scratch<T> rows(2 * a.batch * a.width), paths_through(a.batch * a.times * a.width);
  launch<ctc_beta<T>>(block_per_sequence(a), a, rows.data(), paths_through.data());
  launch<ctc_gradient<T>>(grid_of(a.times * a.batch * a.classes), a, paths_through.data());
}

bool ctc_labels(const CtcArgs& a) {
  const Faults outside(Check::CtcLabels);
  launch<find_outside>(block_per_sequence(a), a, outside.found());
  return outside.none();
}
void ctc(const CtcArgs& a) {
  if (a.dtype == DType::Float32)
    launch<ctc_alpha<float>>(block_per_sequence(a), a);
  else
    launch<ctc_alpha<double>>(block_per_sequence(a), a);
}
void ctc_backward(const CtcArgs& a) {
  a.dtype == DType::Float32 ? backward<float>(a) : backward<double>(a);
}

}  // namespace

const CtcTable ctc_table = {ctc_labels, ctc, ctc_backward};

}  // namespace tt::cuda
