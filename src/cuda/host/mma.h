// The functions of cuda/infra/mma.h for the host's compiler.
#pragma once
#include "core/dtypes/half.h"
#include "cuda/host/cuda.h"

#pragma GCC visibility push(default)
namespace tt::emulated {

enum class Word { Halves, BFloats, Tf32 };
void mma(Word word, float* d, const unsigned* a, const unsigned* b);
void load_matrices(unsigned* words, const void* row, bool transposed);

}  // namespace tt::emulated
#pragma GCC visibility pop

namespace tt::cuda {
namespace {

template <class T>
__forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  using emulated::Word;
  constexpr Word word = std::is_same_v<T, Half>       ? Word::Halves
                        : std::is_same_v<T, BFloat16> ? Word::BFloats
                                                      : Word::Tf32;
  emulated::mma(word, d, a, b);
}

// To nearest, ties away from zero.
__forceinline__ unsigned tf32_of(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

template <class T>
__forceinline__ unsigned pair_of(float first, float second) {
  return T(first).bits | static_cast<unsigned>(T(second).bits) << 16;
}

__forceinline__ void load_matrices(unsigned (&words)[4], const void* row) {
  emulated::load_matrices(words, row, false);
}
__forceinline__ void load_transposed(unsigned (&words)[4], const void* row) {
  emulated::load_matrices(words, row, true);
}

__forceinline__ void copy_async(void* shared, const void* global, int bytes = 16) {
  emulated::copy_async(shared, global, bytes);
}
__forceinline__ void commit_copies() { emulated::commit_copies(); }
template <int kOpen>
__forceinline__ void wait_for_copies() {
  emulated::wait_for_copies(kOpen);
}

}  // namespace
}  // namespace tt::cuda
