// The loop over lists of arrays that optim.cpp and foreach.cpp share, for their anonymous
// namespaces.
#pragma once
#include "core/tables/optim.h"
#include "cpu/infra/parallel.h"
#include "cpu/vec/vec_machine.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

// The arrays of one chunk, typed.
template <class T>
struct Arrays {
  T* param;
  const T* grad;
  T *state0, *state1, *state2;

  explicit Arrays(const Chunk& c)
      : param(static_cast<T*>(c.param)),
        grad(static_cast<const T*>(c.grad)),
        state0(static_cast<T*>(c.state[0])),
        state1(static_cast<T*>(c.state[1])),
        state2(static_cast<T*>(c.state[2])) {}
};

// The elements of a chunk from i on, as many as `memory` meets at once.
template <class Type, class Memory>
struct Place : Arrays<Type> {
  using T = Type;
  int64_t i;
  Memory memory;

  Place(const Arrays<T>& arrays, int64_t i, Memory memory)
      : Arrays<T>(arrays), i(i), memory(memory) {}
  Vec<T> load(const T* from) const { return memory.load(from + i); }
  void store(T* to, Vec<T> v) const { memory.store(to + i, v); }
};

// A running average that moves towards x by `weight`: lerp of core/functors.h, exact at either end.
template <class T, class V>
V average(V old, V x, T weight) {
  const bool near_old = weight > T(-0.5) && weight < T(0.5);
  return near_old ? old + weight * (x - old) : x - (x - old) * (1 - weight);
}

template <class Place>
using ElementOf = typename std::decay_t<Place>::T;

// Elements [begin, end) of one chunk: kernel(args, scale, place) for each vector of them.
template <class T, const auto& kernel, class Args>
void update(const Args& args, const Chunk& chunk, int64_t begin, int64_t end) {
  // Copies, which no store can change: what depends on them alone leaves the loop.
  const Args a = args;
  const double scale[] = {chunk.scale[0], chunk.scale[1], chunk.scale[2]};
  const Arrays<T> arrays(chunk);
  for_each_vector<T>(begin, end,
                     [&](int64_t i, auto memory) { kernel(a, scale, Place(arrays, i, memory)); });
}

// The chunks laid end to end, cut into equal ranges: a thread's range may begin and end inside a
// parameter, so one large and many small parameters share the work alike.
template <class T, const auto& kernel, class Args>
void update_all(const Chunk* chunks, int64_t count, const Args& args) {
  int64_t total = 0;
  for (int64_t c = 0; c < count; ++c) total += chunks[c].numel;
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t c = 0; c < count && end > 0; ++c) {
      const int64_t n = chunks[c].numel;
      if (begin < n) update<T, kernel>(args, chunks[c], begin, end < n ? end : n);
      begin = begin > n ? begin - n : 0;
      end -= n;
    }
  });
}

template <class Args, const auto& kernel>
constexpr Steps<Args> steps() {
  return {update_all<float, kernel, Args>, update_all<double, kernel, Args>};
}

}  // namespace
}  // namespace tt::cpu
