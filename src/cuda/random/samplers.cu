// Samplers: every thread draws from a Philox sequence of its own, in the order of PyTorch's.
//
// A grid has as many threads as there are elements, up to kMostThreads. Each call of philox gives a
// thread four words: for its element, and for those that are one, two and three grids further. So a
// draw depends on where the element lies, not on how many threads run at a time.
#include "core/dtypes/draw_range.h"
#include "core/dtypes/with_type.h"
#include "core/tables/random.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/philox.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// PyTorch's grid fills the GPU: that of an H100 and H200, 132 processors of 2048 threads, is taken
// for every GPU, so that a seed gives the same numbers on all of them.
constexpr int64_t kMostBlocks = 132 * 2048 / kThreads;

template <class T, class Draw>
__global__ void draw_elements(T* out, const Positions<1> positions, const int64_t numel,
                              const Draws draws, const Draw draw) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x, thread = thread_index();
  uint64_t counter = 0;
  for (int64_t first = thread; first < numel; first += threads * Draw::kCount, counter += 4) {
    const auto values = draw(philox(draws, counter, thread));
    for (int k = 0; k < Draw::kCount; ++k) {
      const int64_t i = first + threads * k;
      if (i < numel) out[positions.offset(0, i)] = values.of[k];
    }
  }
}

template <class T, class Draw>
void fill(Generator& generator, const NDArray& out, const Draw& draw) {
  const int64_t numel = out.numel();
  Grid grid = grid_of(numel < kMostBlocks * kThreads ? numel : kMostBlocks * kThreads);
  const int64_t at_once = grid.blocks.x * kThreads * Draw::kCount;
  const Draws draws = take(generator, (numel + at_once - 1) / at_once * 4);
  launch<draw_elements<T, Draw>>(grid, reinterpret_cast<T*>(out.data()), in_memory_order(out),
                                 numel, draws, draw);
}

// What each element becomes: F::apply of the uniform, or normal, number that is its own.
template <class T, class F, Values<F> (*source)(uint4), class Transform>
struct Drawn {
  static constexpr int kCount = Values<F>::kCount;
  Transform transform;

  struct Results {
    T of[kCount];
  };
  __device__ Results operator()(uint4 words) const {
    const Values<F> values = source(words);
    Results results;
    for (int k = 0; k < kCount; ++k) results.of[k] = transform(values.of[k]);
    return results;
  }
};
template <class T, class F, Values<F> (*source)(uint4), class Transform>
void fill_with(Generator& generator, const NDArray& out, const Transform& transform) {
  fill<T>(generator, out, Drawn<T, F, source, Transform>{transform});
}

// Calls body(T{}, F{}): the dtype's type, and the one that it is computed in.
template <class Body>
void with_floats(const char* op, DType dtype, const Body& body) {
  switch (dtype) {
    case DType::Float16:
      return body(Half{}, float{});
    case DType::BFloat16:
      return body(BFloat16{}, float{});
    case DType::Float32:
      return body(float{}, float{});
    case DType::Float64:
      return body(double{}, double{});
    default:
      throw NotImplementedError("[", op, "] is not implemented for ", dtype);
  }
}

// Fills with Transform, which holds the numbers, of uniform or normal numbers.
template <template <class, class> class Transform, bool kNormal = false, class... Numbers>
void fill_floats(const char* op, Generator& generator, const NDArray& out, Numbers... numbers) {
  with_floats(op, out.dtype(), [&](auto type, auto number) {
    using T = decltype(type);
    using F = decltype(number);
    constexpr Values<F> (*kSource)(uint4) = kNormal ? normals<F> : units<F>;
    fill_with<T, F, kSource>(generator, out, Transform<T, F>{static_cast<F>(numbers)...});
  });
}

// ---- Continuous distributions -------------------------------------------------------------------

// (0, 1] becomes [from, to): what rounds to the end is the start.
template <class T, class F>
struct Uniform {
  F from, range;
  T first, end;

  __device__ T operator()(F u) const {
    const T value = converted<T>(::fma(u, range, from));
    return static_cast<F>(value) == static_cast<F>(end) ? first : value;
  }
};
void uniform(Generator& generator, const NDArray& out, double from, double to) {
  with_floats("uniform_", out.dtype(), [&](auto type, auto number) {
    using T = decltype(type);
    using F = decltype(number);
    const T first(static_cast<F>(from)), end(static_cast<F>(to));
    const F low = static_cast<F>(first);
    fill_with<T, F, units<F>>(generator, out,
                              Uniform<T, F>{low, static_cast<F>(end) - low, first, end});
  });
}

template <class T, class F>
struct Normal {
  F mean, std;
  __device__ T operator()(F z) const { return converted<T>(::fma(z, std, mean)); }
};
template <class T, class F>
struct LogNormal {
  F mean, std;
  __device__ T operator()(F z) const { return converted<T>(::exp(::fma(z, std, mean))); }
};
void normal(Generator& generator, const NDArray& out, double mean, double std) {
  fill_floats<Normal, true>("normal_", generator, out, mean, std);
}
void log_normal(Generator& generator, const NDArray& out, double mean, double std) {
  fill_floats<LogNormal, true>("log_normal_", generator, out, mean, std);
}

// -log(u) / lambda, which is not 0 for u = 1.
template <class T, class F>
struct Exponential {
  F lambda;
  __device__ T operator()(F u) const {
    constexpr F kHalf = (sizeof(F) == 4 ? F(0x1p-23) : F(0x1p-52)) / 2;
    const F log_u = u >= 1 - kHalf ? -kHalf : ::log(u);
    return converted<T>(-1 / lambda * log_u);
  }
};
void exponential(Generator& generator, const NDArray& out, double lambda) {
  fill_floats<Exponential>("exponential_", generator, out, lambda);
}

// Away from 0 and 1, where the tangent has no limit.
template <class T, class F>
struct Cauchy {
  F median, sigma;
  __device__ T operator()(F u) const {
    constexpr F kEpsilon = sizeof(F) == 4 ? F(0x1p-23) : F(0x1p-52);
    constexpr F kPi = F(3.141592653589793238);
    const F x = u > 1 - kEpsilon ? 1 - kEpsilon : u < kEpsilon ? kEpsilon : u;
    return converted<T>(median + sigma * ::tan(kPi * (x - F(0.5))));
  }
};
void cauchy(Generator& generator, const NDArray& out, double median, double sigma) {
  fill_floats<Cauchy>("cauchy_", generator, out, median, sigma);
}

// ---- Discrete distributions ---------------------------------------------------------------------

template <class T>
using FloatFor = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T, class F>
struct Geometric {
  F log_failure;
  __device__ T operator()(F u) const { return converted<T>(::ceil(::log(u) / log_failure)); }
};
void geometric(Generator& generator, const NDArray& out, double p) {
  with_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    using F = FloatFor<T>;
    fill_with<T, F, units<F>>(generator, out, Geometric<T, F>{static_cast<F>(::log1p(-p))});
  });
}

template <class T, class F>
struct Bernoulli {
  F p;
  T value;
  __device__ T operator()(F u) const { return u < p ? value : T(0); }
};
void bernoulli(Generator& generator, const NDArray& out, double p, double value) {
  with_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    using F = FloatFor<T>;
    fill_with<T, F, units<F>>(
        generator, out,
        Bernoulli<T, F>{static_cast<F>(p), static_cast<T>(static_cast<Computed<T>>(value))});
  });
}

// Remainders of whole words: of 32 bits, four to a call, or of 64.
template <class T, class Word>
struct Remainder {
  static constexpr int kCount = 16 / sizeof(Word);
  Word range;  // 0: all that a word holds
  uint64_t from;

  struct Results {
    T of[kCount];
  };
  __device__ T result(Word word) const {
    const Word below = range == 0 ? word : static_cast<Word>(word % range);
    return converted<T>(static_cast<int64_t>(below + from));
  }
  __device__ Results operator()(uint4 x) const {
    if constexpr (kCount == 4)
      return {{result(x.x), result(x.y), result(x.z), result(x.w)}};
    else
      return {{result(uint64_t{x.x} << 32 | x.y), result(uint64_t{x.z} << 32 | x.w)}};
  }
};

void random_range(Generator& generator, const NDArray& out, int64_t from, uint64_t range) {
  const auto base = static_cast<uint64_t>(from);
  with_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    if (range == 0 || range >= uint64_t{1} << 28)  // two words keep the skew of % small
      fill<T>(generator, out, Remainder<T, uint64_t>{range, base});
    else
      fill<T>(generator, out, Remainder<T, uint32_t>{static_cast<uint32_t>(range), base});
  });
}

void random(Generator& generator, const NDArray& out) {
  with_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr auto range = static_cast<Word>(static_cast<uint64_t>(largest<T>()) + 1);
    fill<T>(generator, out, Remainder<T, Word>{range, 0});
  });
}

}  // namespace

void fill_samplers(RandomTable& table) {
  table.uniform = uniform;
  table.normal = normal;
  table.log_normal = log_normal;
  table.exponential = exponential;
  table.cauchy = cauchy;
  table.geometric = geometric;
  table.random = random;
  table.random_range = random_range;
  table.bernoulli = bernoulli;
}

}  // namespace tt::cuda
