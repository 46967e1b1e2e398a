// Philox4x32-10: ten rounds of multiplications turn a counter, under a key, into four random words.
// A thread's sequence is its own: its number is the upper half of the counter.
//
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; words and what is made of
// them are cuRAND's, which PyTorch uses.
#pragma once
#include "core/devices/generator.h"
#include "cuda/cuda.h"

namespace tt::cuda {

// Where a kernel's numbers begin. In a graph the place moves with each replay: seed and counter are
// then read from the device's memory, and `from.counter` is how far the graph has drawn before.
struct Draws {
  Generator::Philox from;
  const uint64_t* replayed;  // seed and counter; null outside of graphs
};
Draws take(Generator& generator, uint64_t count);

namespace {

// Words 4 k to 4 k + 3 of a sequence, where `counter` is 4 k.
__device__ inline uint4 philox(const Draws& draws, uint64_t counter, uint64_t sequence) {
  Generator::Philox at = draws.from;
  if (draws.replayed) at = {draws.replayed[0], draws.replayed[1] + at.counter};
  const uint64_t low = (at.counter + counter) / 4;
  uint4 x{static_cast<unsigned>(low), static_cast<unsigned>(low >> 32),
          static_cast<unsigned>(sequence), static_cast<unsigned>(sequence >> 32)};
  unsigned key0 = static_cast<unsigned>(at.seed), key1 = static_cast<unsigned>(at.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * x.x, b = uint64_t{0xcd9e8d57} * x.z;
    x = {static_cast<unsigned>(b >> 32) ^ x.y ^ key0, static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ x.w ^ key1, static_cast<unsigned>(a)};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return x;
}

// Uniform numbers of (0, 1], from one word or from two.
__device__ inline float unit(unsigned x) { return static_cast<float>(x) * 0x1p-32f + 0x1p-33f; }
__device__ inline uint64_t bits53(unsigned x, unsigned y) { return x ^ uint64_t{y} << 21; }
__device__ inline double unit(unsigned x, unsigned y) {
  return static_cast<double>(bits53(x, y)) * 0x1p-53 + 0x1p-54;
}

// What one call of philox gives: four floats or two doubles.
template <class F>
struct Values {
  static constexpr int kCount = sizeof(F) == 4 ? 4 : 2;
  F of[kCount];
};

template <class F>
__device__ Values<F> units(uint4 x) {
  if constexpr (sizeof(F) == 4)
    return {{unit(x.x), unit(x.y), unit(x.z), unit(x.w)}};
  else
    return {{unit(x.x, x.y), unit(x.z, x.w)}};
}

// Sine and cosine as cuRAND takes them on a GPU: of floats by an instruction, whose error of 2^-21
// is the price of its speed; of doubles in half turns. Elsewhere, C's.
__device__ inline void sine_cosine(float angle, float& sine, float& cosine) {
#ifdef __CUDA_ARCH__
  __sincosf(angle, &sine, &cosine);
#else
  sine = ::sinf(angle), cosine = ::cosf(angle);
#endif
}
__device__ inline void sine_cosine_pi(double half_turns, double& sine, double& cosine) {
#ifdef __CUDA_ARCH__
  ::sincospi(half_turns, &sine, &cosine);
#else
  constexpr double kPi = 3.141592653589793238;
  sine = ::sin(kPi * half_turns), cosine = ::cos(kPi * half_turns);
#endif
}

// Box and Muller's transform of two uniform numbers, the second one in radians or half turns.
__device__ inline void normal_pair(unsigned x, unsigned y, float& first, float& second) {
  constexpr float kTurn = 6.2831855f * 0x1p-32f;
  float sine, cosine;
  sine_cosine(::fmaf(static_cast<float>(y), kTurn, kTurn / 2), sine, cosine);
  const float radius = ::sqrtf(-2.0f * ::logf(unit(x)));
  first = radius * sine;
  second = radius * cosine;
}

template <class F>
__device__ Values<F> normals(uint4 x) {
  Values<F> z;
  if constexpr (sizeof(F) == 4) {
    normal_pair(x.x, x.y, z.of[0], z.of[1]);
    normal_pair(x.z, x.w, z.of[2], z.of[3]);
  } else {
    double sine, cosine;
    sine_cosine_pi(static_cast<double>(bits53(x.z, x.w)) * 0x1p-52 + 0x1p-53, sine, cosine);
    const double radius = ::sqrt(-2.0 * ::log(unit(x.x, x.y)));
    z.of[0] = radius * sine;
    z.of[1] = radius * cosine;
  }
  return z;
}

}  // namespace
}  // namespace tt::cuda
