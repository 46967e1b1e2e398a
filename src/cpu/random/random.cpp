#include "cpu/random/random.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "cpu/random/box_muller.h"
#include "cpu/random/draws.h"

namespace tt::cpu {

namespace {

// ---- random_ ------------------------------------------------------------------------------------

void random(Generator& generator, const NDArray& out) {
  with_type(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      fill<T>(generator, out, [&] { return (generator.random() & 1) != 0; });
    } else if constexpr (sizeof(T) == 8) {
      constexpr uint64_t range = static_cast<uint64_t>(largest<T>()) + 1;
      fill<T>(generator, out, [&] { return generator.random64() % range; });
    } else {
      constexpr auto range = static_cast<uint32_t>(largest<T>() + 1);
      fill<T>(generator, out, [&] { return generator.random() % range; });
    }
  });
}

// Unsigned, so that it wraps as two's complement does.
void random_range(Generator& generator, const NDArray& out, int64_t from, uint64_t range) {
  const auto base = static_cast<uint64_t>(from);
  with_type(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (range == 0) {  // all of int64
      fill<T>(generator, out, [&] { return static_cast<int64_t>(generator.random64()); });
    } else if (range >= uint64_t{1} << 28) {  // two words keep the skew of % small
      fill<T>(generator, out,
              [&] { return static_cast<int64_t>(generator.random64() % range + base); });
    } else {
      const auto narrow = static_cast<uint32_t>(range);
      fill<T>(generator, out,
              [&] { return static_cast<int64_t>(generator.random() % narrow + base); });
    }
  });
}

// ---- Continuous distributions -------------------------------------------------------------------

void uniform(Generator& generator, const NDArray& out, double from, double to) {
  with_float_or_half("uniform_", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using F = Computed<T>;
    if (from == 0 && to == 1 && !is_half_type<T>)
      return fill<T>(generator, out, [&] { return unit<F>(generator); });
    const F low = static_cast<F>(from), width = static_cast<F>(to) - low;
    const F first = as<T>(from), end = as<T>(to);
    fill<T>(generator, out, [&] {
      const F value = as<T>(std::fma(unit<F>(generator), width, low));  // contracted in PyTorch
      return value == end ? first : value;                              // rounding may reach `to`
    });
  });
}

// Uniforms u[0..8) and u[8..16) become 16 normals, block by block.
void normals_from_uniforms(float* u, int64_t blocks, double mean, double std) {
  box_muller().f32(u, blocks, static_cast<float>(mean), static_cast<float>(std));
}

void normals_from_uniforms(double* u, int64_t blocks, double mean, double std) {
  for (; blocks > 0; --blocks, u += 16) {
    for (int j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - get(u + j)));
      const double theta = 2.0 * kPi * get(u + j + 8);
      put(u + j, std::fma(radius * std::cos(theta), std, mean));
      put(u + j + 8, std::fma(radius * std::sin(theta), std, mean));
    }
  }
}

template <class T>
void fill_normals(Generator& generator, T* values, int64_t count, double mean, double std) {
  for (int64_t i = 0; i < count; ++i) put(values + i, unit<T>(generator));
  normals_from_uniforms(values, count / 16, mean, std);
  if (count % 16 == 0) return;
  // The last 16 elements start anew, from uniforms of their own.
  T* tail = values + count - 16;
  for (int64_t i = 0; i < 16; ++i) put(tail + i, unit<T>(generator));
  normals_from_uniforms(tail, 1, mean, std);
}

// Halves go through float32 in blocks; the block that a tail begins draws nothing.
template <class H>
void fill_half_normals(Generator& generator, H* values, int64_t count, double mean, double std) {
  float block[16];
  const auto fill_block = [&](H* to) {
    for (float& value : block) value = unit<float>(generator);
    normals_from_uniforms(block, 1, mean, std);
    for (int j = 0; j < 16; ++j) put(to + j, H(block[j]));
  };
  for (int64_t i = 0; i + 16 <= count; i += 16) fill_block(values + i);
  if (count % 16 != 0) fill_block(values + count - 16);
}

void normal(Generator& generator, const NDArray& out, double mean, double std) {
  const int64_t count = out.numel();
  with_float_or_half("normal_", out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (count < 16 || !out.is_contiguous())
      return fill<T>(generator, out, [&] { return next_normal(generator, mean, std); });
    Guard guard(generator.mutex());
    T* values = reinterpret_cast<T*>(out.data());
    if constexpr (is_half_type<T>)
      fill_half_normals(generator, values, count, mean, std);
    else
      fill_normals(generator, values, count, mean, std);
  });
}

void log_normal(Generator& generator, const NDArray& out, double mean, double std) {
  with_float_or_half("log_normal_", out.dtype(), [&](auto zero) {
    fill<decltype(zero)>(generator, out,
                         [&] { return std::exp(next_normal(generator, mean, std)); });
  });
}

}  // namespace

void exponential(Generator& generator, const NDArray& out, double lambda) {
  with_float_or_half("exponential_", out.dtype(), [&](auto zero) {
    fill<decltype(zero)>(generator, out,
                         [&] { return -1.0 / lambda * std::log1p(-unit<double>(generator)); });
  });
}

namespace {

void cauchy(Generator& generator, const NDArray& out, double median, double sigma) {
  with_float_or_half("cauchy_", out.dtype(), [&](auto zero) {
    fill<decltype(zero)>(generator, out, [&] {
      return std::fma(sigma, std::tan(kPi * (unit<double>(generator) - 0.5)), median);
    });
  });
}

// ---- Discrete distributions ---------------------------------------------------------------------

void geometric(Generator& generator, const NDArray& out, double p) {
  const double log_failure = std::log1p(-p);
  with_type(out.dtype(), [&](auto zero) {
    fill<decltype(zero)>(
        generator, out, [&] { return std::ceil(std::log(unit<double>(generator)) / log_failure); });
  });
}

// 53 bits for any target. PyTorch with MKL on Intel machines takes one word as the seed of another
// generator instead; without, this.
void bernoulli(Generator& generator, const NDArray& out, double p, double value) {
  // k 2^-53 < p, k being the low 53 bits of a draw, in integers: a block of draws at once.
  constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;
  const auto limit = static_cast<int64_t>(std::ceil(p * 0x1p53));
  auto is_one = [=](uint64_t draw) { return static_cast<int64_t>(draw & kMask) < limit; };
  with_type(out.dtype(), [&](auto nil) {
    using T = decltype(nil);
    const T zero = as<T>(0), one = as<T>(value);
    Guard guard(generator.mutex());
    for_each_row(out, {}, [&](char* const* data, const int64_t* steps, int64_t count) {
      char* to = data[0];
      const int64_t step = steps[0];
      while (count > 0) {
        const Generator::Pairs pairs = generator.take_pairs(count);
        const uint32_t* word = pairs.words;
        const auto fill = [=](int64_t step) {
          for (int64_t i = 0; i < pairs.count; ++i) {
            const uint64_t draw = uint64_t{word[2 * i]} << 32 | word[2 * i + 1];
            write(to + i * step, is_one(draw) ? one : zero);
          }
        };
        step == sizeof(T) ? fill(sizeof(T)) : fill(step);
        to += pairs.count * step;
        count -= pairs.count;
        if (pairs.count > 0) continue;  // the next draw begins another block
        write(to, is_one(generator.random64()) ? one : zero);
        to += step;
        --count;
      }
    });
  });
}

void bernoulli_each(Generator& generator, const NDArray& out, const NDArray& p) {
  with_float_or_half("bernoulli_", p.dtype(), [&](auto zero) {
    using P = decltype(zero);  // also decides how many bits a draw takes
    for_each_row(out, {&p}, [&](char* const* data, const int64_t* steps, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const P weight = read<P>(data[1] + i * steps[1]);
        if (!(weight >= 0 && weight <= 1))
          throw RuntimeError("[bernoulli_] expects p in [0, 1], but got ", weight);
      }
    });
    Guard guard(generator.mutex());
    with_type(out.dtype(), [&](auto nil) {
      const auto draw = [&](double weight) { return unit<Computed<P>>(generator) < weight; };
      map<decltype(nil), P>(out, draw, p);
    });
  });
}

}  // namespace

extern const RandomTable random_table = {uniform,
                                         normal,
                                         log_normal,
                                         exponential,
                                         cauchy,
                                         geometric,
                                         random,
                                         random_range,
                                         bernoulli,
                                         bernoulli_each,
                                         randperm,
                                         multinomial,
                                         poisson,
                                         binomial,
                                         standard_gamma,
                                         dirichlet,
                                         standard_gamma_grad,
                                         dirichlet_grad,
                                         gammainc,
                                         gamma_density};

}  // namespace tt::cpu
