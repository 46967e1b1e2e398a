// Connectionist temporal classification (Graves et al. 2006), forward and backward.
//
// The labels are spread out, l' = blank l1 blank l2 ... blank, of which a path may leave out blanks
// between different labels. alpha[t, s] is the log-probability of all paths that reach l'[s] at
// time t, beta[t, s] of all that go on from there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/copy.h"
#include "core/api/losses.h"
#include "core/gil.h"
#include "cpu/parallel.h"

namespace tt {

namespace {

template <class T>
T* data_of(const NDArray& array) {
  return reinterpret_cast<T*>(array.data());
}

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(e^a + e^b + e^c): the exponential of the largest, less itself, is 1 without computing it.
template <class T>
T log_add(T a, T b, T c = kNever<T>) {
  if (T sum = a + b + c; sum != sum) return sum;  // NaN
  const T high = std::max(a, b), low = std::min(a, b);
  const T largest = std::max(high, c), middle = std::max(low, std::min(high, c));
  const T least = std::min(low, c);
  if (middle == kNever<T>) return largest;
  T sum = 1 + std::exp(middle - largest);
  if (least != kNever<T>) sum += std::exp(least - largest);
  return largest + std::log(sum);
}

struct Problem {
  NDArray log_probs, targets, input_lengths, target_lengths;
  int64_t blank, batch, classes, times;
  int64_t width = 1;            // of alpha: places in l', the longest target's
  std::vector<int64_t> starts;  // of each target

  Problem(const NDArray& x, const NDArray& t, const NDArray& in, const NDArray& out, int64_t blank)
      : log_probs(x),
        targets(contiguous(t)),
        input_lengths(contiguous(in)),
        target_lengths(contiguous(out)),
        blank(blank),
        batch(x.shape()[1]),
        classes(x.shape()[2]),
        times(x.shape()[0]) {
    int64_t next = 0;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = data_of<int64_t>(target_lengths)[b];
      starts.push_back(t.ndim() == 1 ? next : b * t.shape()[1]);
      next += length;
      width = std::max(width, 2 * length + 1);
      for (int64_t k = 0; k < length; ++k) {
        const int64_t label = data_of<int64_t>(targets)[starts[b] + k];
        if (label < 0 || label >= classes)
          throw RuntimeError("[ctc_loss] target ", label, " is outside of [0, ", classes, ")");
      }
    }
  }

  template <class Body>
  void for_each_sequence(const Body& body) const {
    const int64_t work = times * width;
    const WithoutGil unlocked(batch * work > cpu::kGrain / 8);
    cpu::parallel_for(batch, cpu::kGrain / 8 / std::max<int64_t>(work, 1), body);
  }
};

// One of the batch.
template <class T>
struct Sequence {
  const T* x;
  int64_t time_step, class_step, times, places;
  const int64_t* labels;
  int64_t blank;

  Sequence(const Problem& p, int64_t b)
      : x(data_of<T>(p.log_probs) + b * p.log_probs.strides()[1]),
        time_step(p.log_probs.strides()[0]),
        class_step(p.log_probs.strides()[2]),
        times(data_of<int64_t>(p.input_lengths)[b]),
        places(2 * data_of<int64_t>(p.target_lengths)[b] + 1),
        labels(data_of<int64_t>(p.targets) + p.starts[b]),
        blank(p.blank) {}

  int64_t label(int64_t place) const { return place % 2 ? labels[place / 2] : blank; }
  T at(int64_t t, int64_t c) const { return x[t * time_step + c * class_step]; }
  // Whether a path may go from place - 2 to place.
  bool skips(int64_t place) const { return place > 1 && label(place) != label(place - 2); }
};

template <class T>
void forward(const Problem& p, const NDArray& alphas, const NDArray& losses) {
  p.for_each_sequence([&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Sequence<T> seq(p, b);
      T* alpha = data_of<T>(alphas) + b * p.times * p.width;
      T& loss = data_of<T>(losses)[b];
      if (seq.times == 0) {
        loss = seq.places == 1 ? 0 : -kNever<T>;
        continue;
      }
      for (int64_t s = 0; s < seq.places; ++s)
        alpha[s] = s < 2 ? seq.at(0, seq.label(s)) : kNever<T>;
      for (int64_t t = 1; t < seq.times; ++t) {
        const T* before = alpha;
        alpha += p.width;
        for (int64_t s = 0; s < seq.places; ++s)
          alpha[s] = log_add(before[s], s > 0 ? before[s - 1] : kNever<T>,
                             seq.skips(s) ? before[s - 2] : kNever<T>) +
                     seq.at(t, seq.label(s));
      }
      const int64_t last = seq.places - 1;
      loss = -log_add(alpha[last], last > 0 ? alpha[last - 1] : kNever<T>);
    }
  });
}

template <class T>
void backward(const Problem& p, const NDArray& alphas, const NDArray& losses, const NDArray& grads,
              bool zero_infinity, const NDArray& dx) {
  p.for_each_sequence([&](int64_t begin, int64_t end) {
    std::vector<T> beta(p.width), after(p.width), per_class(p.classes);
    for (int64_t b = begin; b < end; ++b) {
      const Sequence<T> seq(p, b);
      const T loss = data_of<T>(losses)[b], grad = data_of<T>(grads)[b];
      if (zero_infinity && loss == -kNever<T>) continue;
      for (int64_t t = seq.times - 1; t >= 0; --t) {
        const T* alpha = data_of<T>(alphas) + (b * p.times + t) * p.width;
        std::swap(beta, after);
        std::fill(per_class.begin(), per_class.end(), kNever<T>);
        for (int64_t s = 0; s < seq.places; ++s) {
          T paths = s >= seq.places - 2 ? 0 : kNever<T>;
          if (t < seq.times - 1)
            paths = log_add(after[s], s + 1 < seq.places ? after[s + 1] : kNever<T>,
                            s + 2 < seq.places && seq.skips(s + 2) ? after[s + 2] : kNever<T>);
          const int64_t label = seq.label(s);
          beta[s] = paths + seq.at(t, label);
          per_class[label] = log_add(per_class[label], alpha[s] + beta[s]);
        }
        T* to = data_of<T>(dx) + (t * p.batch + b) * p.classes;
        for (int64_t c = 0; c < p.classes; ++c) {
          const T x = seq.at(t, c);
          to[c] = std::exp(x) * grad;
          if (per_class[c] != kNever<T> || x == kNever<T> || !std::isfinite(loss))
            to[c] -= std::exp(per_class[c] + loss - x) * grad;
        }
      }
    }
  });
}

}  // namespace

std::vector<NDArray> ctc_loss(const NDArray& log_probs, const NDArray& targets,
                              const NDArray& input_lengths, const NDArray& target_lengths,
                              int64_t blank) {
  const Problem p(log_probs, targets, input_lengths, target_lengths, blank);
  const DType dtype = log_probs.dtype();
  const NDArray loss = NDArray::empty({p.batch}, dtype);
  const NDArray alpha = NDArray::empty({p.batch, p.times, p.width}, dtype);
  if (dtype == DType::Float32)
    forward<float>(p, alpha, loss);
  else if (dtype == DType::Float64)
    forward<double>(p, alpha, loss);
  else
    throw NotImplementedError("[ctc_loss] is not implemented for ", dtype, " on cpu");
  return {loss, alpha};
}

NDArray ctc_loss_backward(const NDArray& grad, const NDArray& log_probs, const NDArray& targets,
                          const NDArray& input_lengths, const NDArray& target_lengths,
                          int64_t blank, const NDArray& loss, const NDArray& alpha,
                          bool zero_infinity) {
  const Problem p(log_probs, targets, input_lengths, target_lengths, blank);
  const NDArray dx = full(log_probs.shape(), Scalar::of_int(0), log_probs.dtype());
  const NDArray grads = contiguous(grad);
  if (log_probs.dtype() == DType::Float32)
    backward<float>(p, alpha, loss, grads, zero_infinity, dx);
  else
    backward<double>(p, alpha, loss, grads, zero_infinity, dx);
  return dx;
}

}  // namespace tt
