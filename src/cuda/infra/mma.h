// Instructions that a warp carries out together: products of small matrices on tensor cores
// (`mma`), how their operands come out of shared memory (`load_matrices`), and copies from global
// to shared memory that run while the threads go on (`copy_async`).
//
// A matrix lies spread over the lanes, a fragment in each. In words of 4 bytes, which hold two
// halves or one float, side by side in the direction of the depth k:
//
//   A (16 rows, 8 words)     a[r]: row lane / 4 + r % 2 * 8,  word   lane % 4 + r / 2 * 4
//   B (8 words, 8 columns)   b[r]: word lane % 4 + r * 4,     column lane / 4
//   D (16 rows, 8 columns)   d[r]: row lane / 4 + r / 2 * 8,  column lane % 4 * 2 + r % 2
//
// https://docs.nvidia.com/cuda/parallel-thread-execution/ (mma.sync, ldmatrix, cp.async)
#pragma once
#include "core/dtypes/half.h"
#include "cuda/cuda.h"

#ifdef __CUDACC__

namespace tt::cuda {
namespace {

// D += A @ B, summed in float32. T: Half, BFloat16 (a depth of 16), or float, of which the words
// are TF32's (a depth of 8).
template <class T>
__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#define TT_MMA(text)                                                              \
  asm volatile("mma.sync.aligned." text                                           \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (std::is_same_v<T, Half>)
    TT_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  else if constexpr (std::is_same_v<T, BFloat16>)
    TT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  else
    TT_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#undef TT_MMA
}

// The bits of the nearest number that TF32 has: of 10 bits of mantissa.
__device__ inline unsigned tf32_of(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

// A word of two halves, the first in the lower bits.
template <class T>
__device__ unsigned pair_of(float first, float second) {
  unsigned bits;
  if constexpr (std::is_same_v<T, Half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}

__device__ inline unsigned shared_address(const void* memory) {
  return static_cast<unsigned>(__cvta_generic_to_shared(memory));
}

// Four matrices of 8 rows of 16 bytes, one into each of words[0..3]: lane i passes the address of
// row i % 8 of matrix i / 8, and gets word i % 4 of row i / 4 of each.
__device__ inline void load_matrices(unsigned (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(row))
               : "memory");
}
// The same of the transposed matrices of 8 x 8 halves.
__device__ inline void load_transposed(unsigned (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address(row))
               : "memory");
}

// Starts to copy 16 aligned bytes into shared memory, of which those from `bytes` on are 0. They
// are there once the thread has waited for the group that the next commit_copies() closes.
__device__ inline void copy_async(void* shared, const void* global, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(bytes)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups but the last kOpen that were closed.
template <int kOpen>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
}

}  // namespace
}  // namespace tt::cuda

#else
#include "cuda/host/mma.h"
#endif
