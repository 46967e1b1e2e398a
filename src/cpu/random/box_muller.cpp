// Box-Muller for float32, built once per instruction set.
//
// It repeats, operation by operation, the Cephes logf, sinf and cosf that PyTorch runs in AVX2 with
// multiply-adds: the same seed gives PyTorch's bits, with or without such instructions. So the
// order of operations here is not free; every `fused` is one rounding in PyTorch's build.
#include "cpu/random/box_muller.h"

#include "cpu/vec/vec.h"

namespace tt::cpu {
namespace {

constexpr int kLanes = TT_VECTOR_BYTES >= 32 ? 8 : 4;  // a block has 8 pairs
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

// a * b + c rounded once. Without the instruction, by way of double: there a product of two floats
// is exact; that the sum is rounded twice shows in about one of 2^29 results.
inline Floats fused(Floats a, Floats b, Floats c) {
  Floats result;
  for (int lane = 0; lane < kLanes; ++lane) {
#ifdef __FMA__
    result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
#else
    result[lane] = static_cast<float>(static_cast<double>(a[lane]) * b[lane] + c[lane]);
#endif
  }
  return result;
}

inline Floats fused(Floats a, Floats b, float c) { return fused(a, b, broadcast<Floats>(c)); }

// log of normal floats in (0, 1]: x = 2^e * m with m in [sqrt(1/2), sqrt(2)), and a polynomial for
// log(m) in terms of m - 1.
inline Floats cephes_log(Floats x) {
  const Ints bits = (Ints)x;
  const Floats half_to_one = (Floats)((bits & 0x007fffff) | 0x3f000000);
  const Ints low = half_to_one < 0.707106781186547524f;
  const Floats e = __builtin_convertvector((bits >> 23) - 126 + low, Floats);
  const Floats m = (half_to_one - 1.0f) + (Floats)((Ints)half_to_one & low);
  const Floats square = m * m;
  constexpr float kRest[] = {-1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f,
                             1.4249322787e-1f,  -1.6668057665e-1f, 2.0000714765e-1f,
                             -2.4999993993e-1f, 3.3333331174e-1f};
  Floats y = broadcast<Floats>(7.0376836292e-2f);
  for (float c : kRest) y = fused(y, m, c);
  y = fused(y * m, square, e * -2.12194440e-4f);
  y = y - 0.5f * square;
  return (m + y) + e * 0.693359375f;  // an exact product; the two constants make log(2)
}

// For x in [0, 2 pi]: the distance to the nearest even multiple of pi / 4, then two polynomials.
inline void cephes_sincos(Floats x, Floats& sine, Floats& cosine) {
  const Ints octant = (__builtin_convertvector(x * 1.27323954473516f, Ints) + 1) & ~1;
  const Floats y = __builtin_convertvector(octant, Floats);
  x = x - y * 0.78515625f;  // pi / 4 in three parts; with the first two a product is exact
  x = x - y * 2.4187564849853515625e-4f;
  x = fused(y, broadcast<Floats>(-3.77489497744594108e-8f), x);
  const Floats square = x * x;
  Floats c = fused(broadcast<Floats>(2.443315711809948e-5f), square, -1.388731625493765e-3f);
  c = fused(c, square, 4.166664568298827e-2f);
  c = fused(c * square, square, -0.5f * square) + 1.0f;
  Floats s = fused(broadcast<Floats>(-1.9515295891e-4f), square, 8.3321608736e-3f);
  s = fused(s, square, -1.6666654611e-1f);
  s = fused(s * square, x, x);
  const Ints swapped = (octant & 2) != 0;
  const Ints sine_sign = (octant & 4) << 29;
  const Ints cosine_sign = (~(octant - 2) & 4) << 29;
  sine = (Floats)((Ints)select(swapped, c, s) ^ sine_sign);
  cosine = (Floats)((Ints)select(swapped, s, c) ^ cosine_sign);
}

void f32(float* u, int64_t blocks, float mean, float std) {
  const Floats means = broadcast<Floats>(mean), stds = broadcast<Floats>(std);
  for (; blocks > 0; --blocks, u += 16) {
    for (int j = 0; j < 8; j += kLanes) {
      Floats u1, u2, sine, cosine, radius;
      __builtin_memcpy(&u1, u + j, sizeof u1);
      __builtin_memcpy(&u2, u + j + 8, sizeof u2);
      const Floats square = -2.0f * cephes_log(1.0f - u1);
      for (int lane = 0; lane < kLanes; ++lane) radius[lane] = __builtin_sqrtf(square[lane]);
      cephes_sincos(u2 * static_cast<float>(6.283185307179586477), sine, cosine);
      u1 = fused(radius * cosine, stds, means);
      u2 = fused(radius * sine, stds, means);
      __builtin_memcpy(u + j, &u1, sizeof u1);
      __builtin_memcpy(u + j + 8, &u2, sizeof u2);
    }
  }
}

}  // namespace

namespace TT_ISA {
extern const BoxMullerTable box_muller_table = {f32};
}  // namespace TT_ISA

}  // namespace tt::cpu
