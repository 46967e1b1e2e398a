#include "core/api/nn/ctc.h"

#include <algorithm>

#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/tables/ctc.h"

namespace tt {

namespace {

// Numbers of the host, on the device of x.
NDArray sent(const std::vector<int64_t>& numbers, const NDArray& x) {
  const NDArray out = x.new_empty({static_cast<int64_t>(numbers.size())}, DType::Int64);
  const size_t bytes = numbers.size() * sizeof(int64_t);
  x.device().from_host(out.data(), numbers.data(), bytes);
  if (Recording* const r = recording()) r->fill(x.device(), out.data(), numbers.data(), bytes);
  return out;
}

// What forward and backward share.
struct Ctc {
  std::vector<int64_t> begins;  // of each target: where it is
  NDArray targets, input_lengths, target_lengths, starts;
  CtcArgs args{};

  Ctc(const NDArray& x, const NDArray& t, const std::vector<int64_t>& in,
      const std::vector<int64_t>& out, int64_t blank)
      : begins(begins_of(t, out)),
        targets(contiguous(t)),
        input_lengths(sent(in, x)),
        target_lengths(sent(out, x)),
        starts(sent(begins, x)) {
    if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
      throw not_implemented("ctc_loss", x.dtype());
    args.dtype = x.dtype();
    args.times = x.shape()[0];
    args.batch = x.shape()[1];
    if (int64_t(in.size()) != args.batch || int64_t(out.size()) != args.batch)
      throw RuntimeError("[ctc_loss] expected ", args.batch, " lengths, got ", in.size(), " and ",
                         out.size());
    args.classes = x.shape()[2];
    args.x = x.data();
    args.time_step = x.strides()[0];
    args.batch_step = x.strides()[1];
    args.class_step = x.strides()[2];
    args.targets = data_of<int64_t>(targets);
    args.starts = data_of<int64_t>(starts);
    args.input_lengths = data_of<int64_t>(input_lengths);
    args.target_lengths = data_of<int64_t>(target_lengths);
    args.blank = blank;
    args.width = 1;
    for (const int64_t length : out) args.width = std::max(args.width, 2 * length + 1);
    if (!launch(x)(backend_of(x).ctc->ctc_labels, args)) refuse_labels(out);
  }
  static std::vector<int64_t> begins_of(const NDArray& t, const std::vector<int64_t>& lengths) {
    std::vector<int64_t> begins;
    int64_t next = 0;
    for (const int64_t length : lengths) {
      begins.push_back(next);
      next += t.ndim() == 1 ? length : t.shape()[1];
    }
    return begins;
  }
  void refuse_labels(const std::vector<int64_t>& lengths) const {
    const HostElements<int64_t> seen(targets);
    for (int64_t b = 0; b < args.batch; ++b)
      for (int64_t k = 0; k < lengths[b]; ++k)
        if (const int64_t label = seen[begins[b] + k]; label < 0 || label >= args.classes)
          throw RuntimeError("[ctc_loss] target ", label, " is outside of [0, ", args.classes, ")");
  }
  Ctc(const Ctc&) = delete;
};

}  // namespace

std::vector<NDArray> ctc_loss(const NDArray& log_probs, const NDArray& targets,
                              const std::vector<int64_t>& input_lengths,
                              const std::vector<int64_t>& target_lengths, int64_t blank) {
  Ctc ctc(log_probs, targets, input_lengths, target_lengths, blank);
  CtcArgs& args = ctc.args;
  const NDArray loss = log_probs.new_empty({args.batch}, args.dtype);
  const NDArray alpha = log_probs.new_empty({args.batch, args.times, args.width}, args.dtype);
  args.loss = loss.data();
  args.alpha = alpha.data();
  launch(log_probs)(backend_of(log_probs).ctc->ctc, args);
  return {loss, alpha};
}

NDArray ctc_loss_backward(const NDArray& grad, const NDArray& log_probs, const NDArray& targets,
                          const std::vector<int64_t>& input_lengths,
                          const std::vector<int64_t>& target_lengths, int64_t blank,
                          const NDArray& loss, const NDArray& alpha, bool zero_infinity) {
  Ctc ctc(log_probs, targets, input_lengths, target_lengths, blank);
  const NDArray dx = new_full(log_probs, log_probs.shape(), Scalar::of_int(0), log_probs.dtype());
  const NDArray grads = contiguous(grad);
  ctc.args.loss = loss.data();
  ctc.args.alpha = alpha.data();
  ctc.args.grad = grads.data();
  ctc.args.out = dx.data();
  ctc.args.zero_infinity = zero_infinity;
  launch(log_probs)(backend_of(log_probs).ctc->ctc_backward, ctc.args);
  return dx;
}

}  // namespace tt
