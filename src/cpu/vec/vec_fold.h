// The lanes of vectors combined, of as many vectors as they have lanes at once. Built once per
// instruction set.
#pragma once
#include "cpu/vec/vec.h"

namespace tt::cpu {
namespace {

struct Plus {
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};

// The lanes of one vector combined in halves.
template <class T, int bytes, class F>
inline T fold(typename VecOf<T, bytes>::type v, F f) {
  if constexpr (bytes == 2 * sizeof(T)) {
    typedef typename VecOf<T, bytes>::type V;
    const V turned = {v[1], v[0]};
    return f(v, turned)[0];
  } else {
    typename VecOf<T, bytes / 2>::type halves[2];
    __builtin_memcpy(halves, &v, sizeof v);
    return fold<T, bytes / 2>(f(halves[0], halves[1]), f);
  }
}

// x and y hold rows of kWidth lanes each, one after the other. Their halves combined: a vector of
// twice as many rows, half as wide.
template <class T, int kWidth, class F>
inline Vec<T> combine_halves(Vec<T> x, Vec<T> y, F f) {
  constexpr int kHalf = kWidth / 2;
  Mask<T> first{};
  for (int i = 0; i < lanes<T>; ++i) first[i] = i / kHalf * kWidth + i % kHalf;
  return f(__builtin_shuffle(x, y, first), __builtin_shuffle(x, y, first + kHalf));
}

// The same of kWidth vectors of one row each, down to one vector: rows[0][r] are row r's lanes.
template <class T, int kWidth, class F>
inline void halve(Vec<T>* rows, F f) {
  for (int v = 0; v < kWidth / 2; ++v)
    rows[v] = combine_halves<T, kWidth>(rows[2 * v], rows[2 * v + 1], f);
  if constexpr (kWidth > 2) halve<T, kWidth / 2>(rows, f);
}

}  // namespace
}  // namespace tt::cpu
