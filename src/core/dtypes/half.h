// float16 and bfloat16: 16 bits of storage. Whoever computes with one computes with the float that
// it converts to, and rounds at the end, to nearest, ties to even. A GPU has instructions that do
// so; its NaNs have other bits.
#pragma once
#include <cstdint>
#include <cstring>

#include "core/devices/host_device.h"

namespace tt {

TT_HOST_DEVICE inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TT_HOST_DEVICE inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 binary16: a sign, 5 bits of exponent (bias 15), 10 of mantissa.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  TT_HOST_DEVICE explicit Half(float value) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    const uint32_t word = bits_of(value), magnitude = word & 0x7fffffff;
    uint32_t result;
    if (magnitude > 0x7f800000)  // NaN
      result = 0x7e00;
    else if (magnitude >= 0x477ff000)  // 65520 and above round to infinity
      result = 0x7c00;
    else if (magnitude < 0x38800000)  // below 2^-14: the steps of 0.5's neighbours are 2^-24, too
      result = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    else  // half a step, less one bit where the last bit that stays is even; then the new bias
      result = (magnitude + 0xfff + ((magnitude >> 13) & 1) - ((127 - 15) << 23)) >> 13;
    bits = static_cast<uint16_t>(result | ((word >> 16) & 0x8000));
#endif
  }
  TT_HOST_DEVICE operator float() const {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
    const uint32_t special = magnitude >= 0x0f800000 ? 0x7f800000 : 0;  // infinity and NaN
    return float_of(bits_of(float_of(magnitude) * 0x1p112f) | special | sign);
#endif
  }
};

// The upper half of a float: a sign, 8 bits of exponent, 7 of mantissa.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  TT_HOST_DEVICE explicit BFloat16(float value) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    const uint32_t word = bits_of(value);
    const bool nan = (word & 0x7fffffff) > 0x7f800000;
    bits = static_cast<uint16_t>(nan ? 0x7fc0 : (word + 0x7fff + ((word >> 16) & 1)) >> 16);
#endif
  }
  TT_HOST_DEVICE operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace tt
