// Connectionist temporal classification (Graves et al. 2006), forward and backward.
//
// The labels are spread out, l' = blank l1 blank l2 ... blank, of which a path may leave out blanks
// between different labels. alpha[t, s] is the log-probability of all paths that reach l'[s] at
// time t, beta[t, s] of all that go on from there.
#include "core/tables/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/gil.h"
#include "cpu/cross_entropy/nll.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

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

// One of the batch.
template <class T>
struct Sequence {
  const T* x;
  int64_t time_step, class_step, times, places;
  const int64_t* labels;
  int64_t blank;

  Sequence(const CtcArgs& a, int64_t b)
      : x(reinterpret_cast<const T*>(a.x) + b * a.batch_step),
        time_step(a.time_step),
        class_step(a.class_step),
        times(a.input_lengths[b]),
        places(2 * a.target_lengths[b] + 1),
        labels(a.targets + a.starts[b]),
        blank(a.blank) {}

  int64_t label(int64_t place) const { return place % 2 ? labels[place / 2] : blank; }
  T at(int64_t t, int64_t c) const { return x[t * time_step + c * class_step]; }
  // Whether a path may go from place - 2 to place.
  bool skips(int64_t place) const { return place > 1 && label(place) != label(place - 2); }
};

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
          if (t < seq.times - 1)
            paths = log_add(after[s], s + 1 < seq.places ? after[s + 1] : kNever<T>,
                            s + 2 < seq.places && seq.skips(s + 2) ? after[s + 2] : kNever<T>);
          const int64_t label = seq.label(s);
          beta[s] = paths + seq.at(t, label);
          per_class[label] = log_add(per_class[label], alpha[s] + beta[s]);
        }
        T* to = reinterpret_cast<T*>(a.out) + (t * a.batch + b) * a.classes;
        for (int64_t c = 0; c < a.classes; ++c) {
          const T x = seq.at(t, c);
          to[c] = std::exp(x) * grad;
          if (per_class[c] != kNever<T> || x == kNever<T> || !std::isfinite(loss))
            to[c] -= std::exp(per_class[c] + loss - x) * grad;
        }
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
