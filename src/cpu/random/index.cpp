// Samplers whose draws are indices: randperm and multinomial.
#include <algorithm>
#include <cmath>

#include "core/dtypes/type_name.h"
#include "cpu/random/draws.h"

namespace tt::cpu {

void randperm(Generator& generator, const NDArray& out) {
  const int64_t n = out.numel();
  with_type(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(out.data());
    Guard guard(generator.mutex());
    if (n < std::numeric_limits<uint32_t>::max() / 20) {
      for (int64_t i = 0; i < n; ++i) put(to + i, as<T>(i));
      for (int64_t i = 0; i < n - 1; ++i) {
        const int64_t other = i + generator.random() % static_cast<uint32_t>(n - i);
        const T moved = get(to + i);
        put(to + i, get(to + other));
        put(to + other, moved);
      }
      return;
    }
    // One word is too skewed here: two of them, and the shuffle that starts from nothing.
    for (int64_t i = 0; i < n; ++i) {
      const auto other = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
      put(to + i, get(to + other));
      put(to + other, static_cast<T>(i));
    }
  });
}

namespace {

// The weights as a matrix.
template <class T>
struct Weights {
  const T* data;
  int64_t rows, categories, row_stride, stride;

  explicit Weights(const NDArray& p)
      : data(reinterpret_cast<const T*>(p.data())),
        rows(p.ndim() == 2 ? p.shape()[0] : 1),
        categories(p.shape().back()),
        row_stride(p.ndim() == 2 ? p.strides()[0] : 0),
        stride(p.strides().back()) {}
  T operator()(int64_t row, int64_t category) const {
    return get(data + row * row_stride + category * stride);
  }
};

template <class T>
void check_weights(const Weights<T>& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    Computed<T> sum = 0;
    for (int64_t j = 0; j < p.categories; ++j) {
      const Computed<T> weight = p(row, j);
      if (!(weight >= 0) || !std::isfinite(weight))
        throw RuntimeError("probability tensor contains either `inf`, `nan` or element < 0");
      sum += weight;
    }
    if (!(sum > 0))
      throw RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

// The inverse of the cumulative distribution: summed in the dtype of p (halves in float32),
// searched with 53 bits.
template <class T>
void with_replacement(Generator& generator, const Weights<T>& p, int64_t samples, int64_t* out) {
  using F = Computed<T>;
  std::vector<F> cumulative(static_cast<size_t>(p.categories));
  Guard guard(generator.mutex());
  for (int64_t row = 0; row < p.rows; ++row) {
    F sum = 0;
    for (int64_t j = 0; j < p.categories; ++j) cumulative[j] = sum += p(row, j);
    for (F& value : cumulative) value /= sum;
    cumulative.back() = 1;
    for (int64_t j = 0; j < samples; ++j) {
      const double u = unit<double>(generator);
      *out++ = std::lower_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin();
    }
  }
}

// The largest p / q with q exponential: a category wins with its probability (Gumbel's trick).
template <class T>
void without_replacement(Generator& generator, const Weights<T>& p, const NDArray& array,
                         int64_t samples, int64_t* out) {
  // PyTorch's q is laid out like p, and its draws follow the layout.
  const NDArray q =
      NDArray::empty_strided(array.shape(), like_strides(array), array.dtype(), cpu_device());
  exponential(generator, q, 1);
  const Weights<T> draws(q);

  using Race = std::pair<Computed<T>, int64_t>;
  std::vector<Race> race(static_cast<size_t>(p.categories));
  const auto faster = [](const Race& a, const Race& b) {
    return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
  };
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t j = 0; j < p.categories; ++j) race[j] = {as<T>(p(row, j) / draws(row, j)), j};
    // Among ties (weights of 0) the algorithm decides, so it is that of PyTorch's topk.
    if (samples == 1) {
      std::iter_swap(race.begin(), std::min_element(race.begin(), race.end(), faster));
    } else if (samples * 64 <= p.categories) {
      std::partial_sort(race.begin(), race.begin() + samples, race.end(), faster);
    } else {
      std::nth_element(race.begin(), race.begin() + samples - 1, race.end(), faster);
      std::sort(race.begin(), race.begin() + samples - 1, faster);
    }
    for (int64_t j = 0; j < samples; ++j) *out++ = race[j].second;
  }
}

}  // namespace

void multinomial(Generator& generator, const NDArray& p, int64_t samples, bool replacement,
                 int64_t* out) {
  if (p.ndim() != 1 && p.ndim() != 2) throw RuntimeError("prob_dist must be 1 or 2 dim");
  if (!is_floating(p.dtype()))
    throw RuntimeError("multinomial only supports floating-point dtypes for input, got: ",
                       type_name(p.dtype()));
  if (samples <= 0) throw RuntimeError("cannot sample n_sample <= 0 samples");
  const int64_t categories = p.shape().back();
  if (!replacement && samples > categories)
    throw RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  if (categories > int64_t{1} << 24) throw RuntimeError("number of categories cannot exceed 2^24");
  if (p.shape()[0] == 0 && p.ndim() == 2) return;
  if (categories == 0) throw RuntimeError("[multinomial] there are no categories");
  with_float_or_half("multinomial", p.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Weights<T> weights(p);
    check_weights(weights);
    if (replacement && samples > 1)
      with_replacement(generator, weights, samples, out);
    else
      without_replacement(generator, weights, p, samples, out);
  });
}

}  // namespace tt::cpu
