// What is done to whole lists of arrays besides optimiser steps (optim.cpp): ForeachTable. Built
// once per instruction set.
#include <cmath>

#include "cpu/infra/scratch.h"
#include "cpu/optim/loop.h"

namespace tt::cpu {
namespace {

// sum x^2, sum |x| and max |x|, from 0: a step with an element, and the union of two states.
struct Squares {
  template <class V>
  static V step(V s, V x) {
    return s + x * x;
  }
  template <class V>
  static V combine(V s, V t) {
    return s + t;
  }
};
struct Magnitudes : Squares {
  template <class V>
  static V step(V s, V x) {
    return s + abs(x);
  }
};
struct Largest {
  template <class V>
  static V step(V s, V x) {
    return combine(s, abs(x));
  }
  template <class V>
  static V combine(V s, V t) {
    return (s > t) | (s != s) ? s : t;
  }
};

// In four vectors, which are combined in a fixed order: short chains, and the same bits each time.
template <class F, class T>
double of_block(const NormBlock& block) {
  const T* x = static_cast<const T*>(block.data);
  Vec<T> states[4] = {};
  int64_t i = 0;
  for (; i + 4 * lanes<T> <= block.n; i += 4 * lanes<T>)
    for (int k = 0; k < 4; ++k) states[k] = F::step(states[k], load(x + i + k * lanes<T>));
  for (; i < block.n; i += lanes<T>) {
    const int64_t left = block.n - i;
    states[0] = F::step(states[0], left < lanes<T> ? load_partial(x + i, left) : load(x + i));
  }
  const Vec<T> all = F::combine(F::combine(states[0], states[1]), F::combine(states[2], states[3]));
  double result = 0;
  for (int64_t lane = 0; lane < lanes<T>; ++lane)
    result = F::combine(result, static_cast<double>(all[lane]));
  return result;
}

template <class T>
double of_block(const NormBlock& block, NormPower power) {
  if (power == NormPower::Two) return of_block<Squares, T>(block);
  return power == NormPower::One ? of_block<Magnitudes, T>(block) : of_block<Largest, T>(block);
}

template <class T>
void norms(const NormsArgs& a) {
  const int64_t count = a.count ? a.ends[a.count - 1] : 0;
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += a.blocks[i].n;
  const int64_t grain = total > kGrain ? count * kGrain / total : count;  // in blocks
  const Scratch<double> of_blocks(count);
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) of_blocks.data[i] = of_block<T>(a.blocks[i], a.power);
  });
  for (int64_t k = 0, i = 0; k < a.count; ++k) {
    double all = 0;
    for (; i < a.ends[k]; ++i)
      all = a.power == NormPower::Infinity ? Largest::combine(all, of_blocks.data[i])
                                           : all + of_blocks.data[i];
    static_cast<T*>(a.out)[k] = static_cast<T>(a.power == NormPower::Two ? std::sqrt(all) : all);
  }
}

void norms_of_any(const NormsArgs& args) { args.single ? norms<float>(args) : norms<double>(args); }

}  // namespace
}  // namespace tt::cpu

namespace tt::cpu::TT_ISA {
extern const ForeachTable foreach_table = {steps<Scale>(), steps<Clamp>(), steps<Lerp>(),
                                           norms_of_any};
}
