// Connectionist temporal classification (Graves et al. 2006), forward and backward.
#include "core/formulas/ctc.h"

#include <algorithm>
#include <vector>

#include "core/devices/gil.h"
#include "cpu/cross_entropy/nll.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

// Calls body(begin, end) for parts of the batch.
template <class Body>
void for_sequences(const CtcArgs& a, const Body& body) {
  const int64_t work = a.times * a.width;
  const WithoutGil unlocked(a.batch * work > kGrain / 8);
  parallel_for(a.batch, kGrain / 8 / std::max<int64_t>(work, 1), body);
}

template <class T>
void forward(const CtcArgs& a) {
  for_sequences(a, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Sequence<T> seq(a, b);
      T* alpha = reinterpret_cast<T*>(a.alpha) + b * a.times * a.width;
      T& loss = reinterpret_cast<T*>(a.loss)[b];
      if (seq.times == 0) {
        loss = seq.places == 1 ? 0 : -kNever<T>;
        continue;
      }
      for (int64_t s = 0; s < seq.places; ++s)
        alpha[s] = s < 2 ? seq.at(0, seq.label(s)) : kNever<T>;
      for (int64_t t = 1; t < seq.times; ++t) {
        const T* before = alpha;
        alpha += a.width;
        for (int64_t s = 0; s < seq.places; ++s)
          alpha[s] = seq.paths_to(s, before) + seq.at(t, seq.label(s));
      }
      loss = seq.loss(alpha);
    }
  });
}

template <class T>
void backward(const CtcArgs& a) {
  for_sequences(a, [&](int64_t begin, int64_t end) {
    std::vector<T> beta(a.width), after(a.width), per_class(a.classes);
    for (int64_t b = begin; b < end; ++b) {
      const Sequence<T> seq(a, b);
      const T loss = reinterpret_cast<T*>(a.loss)[b], grad = reinterpret_cast<const T*>(a.grad)[b];
      if (a.zero_infinity && loss == -kNever<T>) continue;
      for (int64_t t = seq.times - 1; t >= 0; --t) {
        const T* alpha = reinterpret_cast<T*>(a.alpha) + (b * a.times + t) * a.width;
        std::swap(beta, after);
        std::fill(per_class.begin(), per_class.end(), kNever<T>);
        for (int64_t s = 0; s < seq.places; ++s) {
          T paths = s >= seq.places - 2 ? 0 : kNever<T>;
          if (t < seq.times - 1) paths = seq.paths_from(s, after.data());
          const int64_t label = seq.label(s);
          beta[s] = paths + seq.at(t, label);
          per_class[label] = log_add(per_class[label], alpha[s] + beta[s]);
        }
        T* to = reinterpret_cast<T*>(a.out) + (t * a.batch + b) * a.classes;
        for (int64_t c = 0; c < a.classes; ++c)
          to[c] = seq.gradient(t, c, per_class[c], loss, grad);
      }
    }
  });
}

bool ctc_labels(const CtcArgs& a) {
  for (int64_t b = 0; b < a.batch; ++b)
    if (!labels({a.targets + a.starts[b], a.target_lengths[b], a.classes, 0})) return false;
  return true;
}

void ctc(const CtcArgs& a) { a.dtype == DType::Float32 ? forward<float>(a) : forward<double>(a); }
void ctc_backward(const CtcArgs& a) {
  a.dtype == DType::Float32 ? backward<float>(a) : backward<double>(a);
}

}  // namespace

extern const CtcTable ctc_table = {ctc_labels, ctc, ctc_backward};

}  // namespace tt::cpu
