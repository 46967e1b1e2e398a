// The loop over lists of arrays that optim.cpp and foreach.cpp share, for their anonymous
// namespaces.
#pragma once
#include "core/tables/optim.h"
#include "cpu/infra/parallel.h"
#include "cpu/vec/vec_machine.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

inline void tell(float* found) {
  const float yes = 1;
  __atomic_store(found, &yes, __ATOMIC_RELAXED);
}

#include "core/formulas/optim_steps.h"

// The arrays of one chunk, typed.
template <class T>
struct Arrays {
  T* param;
  const T* grad;
  T* state[3];
  double scale[3];

  explicit Arrays(const Chunk& c)
      : param(static_cast<T*>(c.param)),
        grad(static_cast<const T*>(c.grad)),
        state{static_cast<T*>(c.state[0]), static_cast<T*>(c.state[1]),
              static_cast<T*>(c.state[2])},
        scale{c.scale[0], c.scale[1], c.scale[2]} {}
};

// The elements of a chunk from i on, as many as `memory` meets at once.
template <class Type, class Memory>
struct Place {
  using T = Type;
  using V = Vec<T>;
  const Arrays<T>& of;
  int64_t i;
  Memory memory;

  V param() const { return memory.load(of.param + i); }
  V grad() const { return memory.load(of.grad + i); }
  V state(int k) const { return memory.load(of.state[k] + i); }
  void set_param(V v) const { memory.store(of.param + i, v); }
  void set_state(int k, V v) const { memory.store(of.state[k] + i, v); }
  double scale(int k) const { return of.scale[k]; }
};

// Elements [begin, end) of one chunk. Flattened, or the longest steps stay calls.
template <class T, class Step>
__attribute__((flatten)) void update(const typename Step::Args& args, const Chunk& chunk,
                                     int64_t begin, int64_t end) {
  // Copies, which no store can change: what depends on them alone leaves the loop.
  const typename Step::Args a = args;
  const Arrays<T> arrays(chunk);
  for_each_vector<T>(begin, end, [&](int64_t i, auto memory) {
    Step::step(a, Place<T, decltype(memory)>{arrays, i, memory});
  });
}

// The chunks laid end to end, cut into equal ranges: a thread's range may begin and end inside a
// parameter, so one large and many small parameters share the work alike.
template <class T, class Step>
void update_all(const Chunk* chunks, int64_t count, const typename Step::Args& args) {
  int64_t total = 0;
  for (int64_t c = 0; c < count; ++c) total += chunks[c].numel;
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t c = 0; c < count && end > 0; ++c) {
      const int64_t n = chunks[c].numel;
      if (begin < n) update<T, Step>(args, chunks[c], begin, end < n ? end : n);
      begin = begin > n ? begin - n : 0;
      end -= n;
    }
  });
}

template <class Step>
constexpr Steps<typename Step::Args> steps() {
  return {update_all<float, Step>, update_all<double, Step>};
}

}  // namespace
}  // namespace tt::cpu
