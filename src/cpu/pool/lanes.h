// Vectors of fewer lanes than the machine's, for short rows; and steps from row to row.
#pragma once
#include <type_traits>

#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

template <class T, int Lanes>
using Few = typename VecOf<T, Lanes* int(sizeof(T))>::type;

template <class V>
struct Element {
  using type = __typeof__(V{}[0] + 0);
};

template <class T>
constexpr T lowest_of() {
  if constexpr (T(0.5) != T(0)) return -T(__builtin_inf());
  return T(uint64_t(1) << (8 * sizeof(T) - 1));
}

// `Lanes` neighbours of S in memory: halves as floats.
template <class S, int Lanes>
inline Few<Computed<S>, Lanes> load_few(const S* from) {
  Few<Computed<S>, Lanes> v;
  if constexpr (is_half_type<S>) {
    const Vec<float> x = Front<float>(Lanes).load(from);
    __builtin_memcpy(&v, &x, sizeof v);
  } else {
    __builtin_memcpy(&v, from, sizeof v);
  }
  return v;
}
// A vector that begins with these. By memory, as GCC has it, it would wait for what it has stored.
template <class V>
inline Vec<float> begin_with(V v) {
#ifdef __AVX512F__
  if constexpr (sizeof v == 32)
    return reinterpret_cast<Vec<float>>(_mm512_castps256_ps512(reinterpret_cast<__m256>(v)));
  if constexpr (sizeof v == 16)
    return reinterpret_cast<Vec<float>>(_mm512_castps128_ps512(reinterpret_cast<__m128>(v)));
#elif defined(__AVX__)
  if constexpr (sizeof v == 16)
    return reinterpret_cast<Vec<float>>(_mm256_castps128_ps256(reinterpret_cast<__m128>(v)));
#endif
  Vec<float> x{};
  __builtin_memcpy(&x, &v, sizeof v);
  return x;
}
template <class S, class V>
inline void store_few(S* to, V v) {
  if constexpr (is_half_type<S>) {
    const HalfBits bits = rounded_to<S>(begin_with(v));
    __builtin_memcpy(static_cast<void*>(to), &bits, sizeof v / sizeof(float) * sizeof(S));
  } else {
    __builtin_memcpy(to, &v, sizeof v);
  }
}

// even[k] is element 2 * k of two vectors, odd[k] the next one; low and high are the way back.
template <class T, int Lanes>
struct PairLanes {
  using V = Few<T, Lanes>;
  using M = decltype(V{} < V{});
  using E = typename Element<M>::type;
  M even{}, odd{}, low{}, high{};

  PairLanes() {
    for (int k = 0; k < Lanes; ++k) {
      even[k] = E(2 * k);
      odd[k] = E(2 * k + 1);
      low[k] = E(k / 2 + k % 2 * Lanes);
      high[k] = E((k + Lanes) / 2 + (k + Lanes) % 2 * Lanes);
    }
  }
};

// Elements that are `step` apart; Step is 1, 2, or 0 for any other.
template <class S, int Lanes, int Step>
inline Few<Computed<S>, Lanes> load_steps(const S* from, int64_t step) {
  using V = Few<Computed<S>, Lanes>;
  V v{};
  if constexpr (Step == 1 || Lanes == 1) {
    v = load_few<S, Lanes>(from);
  } else if constexpr (Step == 2) {
    // Both end with an element that is wanted, so that nothing behind it is read.
    const V low = load_few<S, Lanes>(from), high = load_few<S, Lanes>(from + Lanes - 1);
    decltype(V{} < V{}) pick{};
    for (int i = 0; i < Lanes; ++i) pick[i] = i < Lanes / 2 ? 2 * i : 2 * i + 1;
    v = __builtin_shuffle(low, high, pick);
  } else {
    for (int i = 0; i < Lanes; ++i) v[i] = from[i * step];
  }
  return v;
}

// Calls f(lanes, i) for stretches [i, i + lanes) of [0, count): whole vectors, a half and a quarter
// of one, and what is left in one that overlaps if it may, else one by one.
template <class T, bool may_overlap, class F>
inline void by_lanes(int64_t count, const F& f) {
  constexpr int n = lanes<T>, least = n >= 8 ? n / 4 : n >= 4 ? n / 2 : n;
  int64_t i = 0;
  const auto step = [&](auto lanes) {
    f(lanes, i);
    i += lanes;
  };
  while (i + n <= count) step(std::integral_constant<int, n>{});
  if constexpr (n >= 4)
    if (i + n / 2 <= count) step(std::integral_constant<int, n / 2>{});
  if constexpr (n >= 8)
    if (i + n / 4 <= count) step(std::integral_constant<int, n / 4>{});
  if (i == count) return;
  if (may_overlap && count >= least) return f(std::integral_constant<int, least>{}, count - least);
  while (i < count) step(std::integral_constant<int, 1>{});
}

// Rows of (N, C, D, H), in order.
struct Rows {
  int64_t channels, depth, height, n, c, at[3];

  Rows(int64_t row, int64_t channels, int64_t depth, int64_t height)
      : channels(channels),
        depth(depth),
        height(height),
        n(row / height / depth / channels),
        c(row / height / depth % channels),
        at{row / height % depth, row % height, 0} {}

  void next() {
    at[2] = 0;
    if (++at[1] < height) return;
    at[1] = 0;
    if (++at[0] < depth) return;
    at[0] = 0;
    if (++c < channels) return;
    c = 0;
    ++n;
  }
};

}  // namespace
}  // namespace tt::cpu
