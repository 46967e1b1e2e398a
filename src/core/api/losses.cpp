#include "core/api/losses.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/api/copy.h"
#include "core/api/elementwise.h"
#include "core/api/reduce.h"
#include "core/backend.h"
#include "core/kernels/elementwise.h"
#include "core/kernels/losses.h"
#include "core/type_name.h"

namespace tt {

namespace {

const LossTable& table() { return *cpu_backend().loss; }

// Large contiguous arrays of one shape and dtype (and numbers): what can be cut in blocks.
bool is_cut_in_blocks(const Operand* inputs, int count) {
  const NDArray& first = *as_array(inputs[0]);
  if (first.numel() <= kTotalBlock || is_half(first.dtype()) || !is_floating(first.dtype()))
    return false;
  for (int i = 0; i < count; ++i) {
    const NDArray* array = as_array(inputs[i]);
    if (!array) continue;
    if (array->dtype() != first.dtype()) return false;
    if (array->ndim() == 0) continue;
    if (array->shape() != first.shape() || !array->is_contiguous()) return false;
  }
  return true;
}

NDArray total_of(const Kernel* kernels, const Operand* inputs, int count, bool mean) {
  const DType dtype = as_array(inputs[0])->dtype();
  const NDArray out = NDArray::empty({}, dtype);
  table().total(kernels[static_cast<int>(dtype)], inputs, count, mean, out.data());
  return out;
}

NDArray reduced(const NDArray& loss, bool mean) {
  return reduce(mean ? Reduce::mean : Reduce::sum, loss, std::nullopt, false, std::nullopt);
}

void check_dtype(const char* name, const NDArray& x) {
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    throw not_implemented(name, x.dtype());
}

const int64_t* numbers_of(const NDArray& array) { return reinterpret_cast<int64_t*>(array.data()); }

// The loss, or with its gradient that of x.
NDArray margin(const NDArray& x, const NDArray& targets, const NDArray* grad) {
  check_dtype("multilabel_margin_loss", x);
  const NDArray input = contiguous(x), labels = contiguous(targets);
  const int64_t rows = x.shape()[0], classes = x.shape()[1];
  for (int64_t i = 0; i < rows * classes; ++i)
    if (const int64_t label = numbers_of(labels)[i]; label < -1 || label >= classes)
      throw RuntimeError("[multilabel_margin_loss] target ", label, " is out of range");
  const NDArray grads = grad ? contiguous(*grad) : input;
  const NDArray out =
      grad ? full(x.shape(), Scalar::of_int(0), x.dtype()) : NDArray::empty({rows}, x.dtype());
  table().multilabel_margin({x.dtype(), rows, classes, input.data(), numbers_of(labels),
                             grad ? grads.data() : nullptr, out.data()});
  return out;
}

// ------------------------------------------------------------------------------------------- CTC
// What forward and backward share.
struct Ctc {
  NDArray targets, input_lengths, target_lengths;
  std::vector<int64_t> starts;
  CtcArgs args{};

  Ctc(const NDArray& x, const NDArray& t, const NDArray& in, const NDArray& out, int64_t blank)
      : targets(contiguous(t)), input_lengths(contiguous(in)), target_lengths(contiguous(out)) {
    check_dtype("ctc_loss", x);
    args.dtype = x.dtype();
    args.times = x.shape()[0];
    args.batch = x.shape()[1];
    args.classes = x.shape()[2];
    args.x = x.data();
    args.time_step = x.strides()[0];
    args.batch_step = x.strides()[1];
    args.class_step = x.strides()[2];
    args.targets = numbers_of(targets);
    args.input_lengths = numbers_of(input_lengths);
    args.target_lengths = numbers_of(target_lengths);
    args.blank = blank;
    args.width = 1;
    int64_t next = 0;
    for (int64_t b = 0; b < args.batch; ++b) {
      const int64_t length = args.target_lengths[b];
      starts.push_back(t.ndim() == 1 ? next : b * t.shape()[1]);
      next += length;
      args.width = std::max(args.width, 2 * length + 1);
      for (int64_t k = 0; k < length; ++k) {
        const int64_t label = args.targets[starts[b] + k];
        if (label < 0 || label >= args.classes)
          throw RuntimeError("[ctc_loss] target ", label, " is outside of [0, ", args.classes, ")");
      }
    }
    args.starts = starts.data();
  }
  Ctc(const Ctc&) = delete;
};

}  // namespace

NDArray total_of(Binary op, const NDArray& x, const NDArray& y, bool mean) {
  const Operand inputs[] = {&x, &y};
  if (!is_cut_in_blocks(inputs, 2)) return reduced(binary(op, &x, &y), mean);
  return total_of(cpu_backend().elementwise->binary[static_cast<int>(op)], inputs, 2, mean);
}

NDArray total_of(Ternary op, const NDArray& x, const NDArray& y, const Operand& z, bool mean) {
  const Operand inputs[] = {&x, &y, z};
  if (!is_cut_in_blocks(inputs, 3)) return reduced(ternary(op, &x, &y, z), mean);
  return total_of(cpu_backend().elementwise->ternary[static_cast<int>(op)], inputs, 3, mean);
}

NDArray multilabel_margin(const NDArray& x, const NDArray& targets) {
  return margin(x, targets, nullptr);
}
NDArray multilabel_margin_backward(const NDArray& grad, const NDArray& x, const NDArray& targets) {
  return margin(x, targets, &grad);
}

std::vector<NDArray> ctc_loss(const NDArray& log_probs, const NDArray& targets,
                              const NDArray& input_lengths, const NDArray& target_lengths,
                              int64_t blank) {
  Ctc ctc(log_probs, targets, input_lengths, target_lengths, blank);
  CtcArgs& args = ctc.args;
  const NDArray loss = NDArray::empty({args.batch}, args.dtype);
  const NDArray alpha = NDArray::empty({args.batch, args.times, args.width}, args.dtype);
  args.loss = loss.data();
  args.alpha = alpha.data();
  table().ctc(args);
  return {loss, alpha};
}

NDArray ctc_loss_backward(const NDArray& grad, const NDArray& log_probs, const NDArray& targets,
                          const NDArray& input_lengths, const NDArray& target_lengths,
                          int64_t blank, const NDArray& loss, const NDArray& alpha,
                          bool zero_infinity) {
  Ctc ctc(log_probs, targets, input_lengths, target_lengths, blank);
  const NDArray dx = full(log_probs.shape(), Scalar::of_int(0), log_probs.dtype());
  const NDArray grads = contiguous(grad);
  ctc.args.loss = loss.data();
  ctc.args.alpha = alpha.data();
  ctc.args.grad = grads.data();
  ctc.args.out = dx.data();
  ctc.args.zero_infinity = zero_infinity;
  table().ctc_backward(ctc.args);
  return dx;
}

}  // namespace tt
