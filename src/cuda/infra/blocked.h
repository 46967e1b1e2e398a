// Products of float32 matrices on CUDA cores: a block computes a tile of kSize x kSize, each of its
// 16 x 16 threads kSize / 16 squared elements of it.
//
// Why this is faster than a thread per element (tiles.h): there a thread reads two numbers of
// shared memory for each multiply-add. Here it reads 8 of A and 8 of B into registers, and makes 64
// products of them. While the threads multiply what is in one stage of shared memory, their next
// numbers are on the way from global memory; these go into the other stage, so that one barrier for
// each stage is enough.
#pragma once
#include "cuda/infra/block.h"
#include "cuda/infra/factors.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

// What a thread carries into a stage of shared memory (kDepth, kSize): 4 elements of a factor.
template <int kSize, class Factor>
class Share {
 public:
  static constexpr int kDepth = 4 * kThreads / kSize;
  static constexpr int kRow = kSize + 4;  // with which columns lie in different banks

  __device__ Share(const Factor& factor, int64_t first_line) : factor_(factor) {
    const int thread = threadIdx.x;
    if (factor.has_chunks && factor.is_deep)
      line_ = thread / (kDepth / 4), k_ = thread % (kDepth / 4) * 4, step_ = 1;
    else if (factor.has_chunks)
      line_ = thread % (kSize / 4) * 4, k_ = thread / (kSize / 4), step_ = 0;
    else
      line_ = thread % kSize, k_ = thread / kSize, step_ = kThreads / kSize;
    of_line_ = factor.line(first_line + line_);
  }
  __device__ void fetch(int64_t first) {
    if (!factor_.has_chunks) {
      TT_UNROLL
      for (int i = 0; i < 4; ++i) own_[i] = factor_.element(of_line_, first + k_ + i * step_);
      return;
    }
    const Chunk<float> chunk = factor_.chunk(of_line_, first + k_);
    if (chunk.count == 4) {
      const float4 all = *reinterpret_cast<const float4*>(chunk.data);
      own_[0] = all.x, own_[1] = all.y, own_[2] = all.z, own_[3] = all.w;
    } else {
      TT_UNROLL
      for (int i = 0; i < 4; ++i) own_[i] = i < chunk.count ? chunk.data[i] : 0;
    }
  }
  __device__ void store(float (*stage)[kRow]) const {
    if (step_ == 0)
      *reinterpret_cast<float4*>(&stage[k_][line_]) = {own_[0], own_[1], own_[2], own_[3]};
    else
      TT_UNROLL
    for (int i = 0; i < 4; ++i) stage[k_ + i * step_][line_] = own_[i];
  }

 private:
  const Factor& factor_;
  typename Factor::Line of_line_;
  int line_, k_, step_;  // of its first element; from k to k of the others
  float own_[4];
};

template <int kSize>
struct BlockedTile {
  static constexpr int kOwn = kSize / 16;
  static constexpr size_t kSharedBytes = 0;  // of dynamic shared memory

  // The thread's elements of the tile: fours of rows and columns, 64 apart.
  __device__ static int own_row(int i) { return i / 4 * 64 + threadIdx.x / 16 * 4 + i % 4; }
  __device__ static int own_column(int j) { return j / 4 * 64 + threadIdx.x % 16 * 4 + j % 4; }

  // Gives `use` (tiles.h) the elements of the tile that begins at (row, column) of A @ B, each by
  // one thread: sums over k from `begin`, where a tile of the depth begins, to `end`.
  template <class A, class B, class Use>
  __device__ static void multiply(const A& a, const B& b, int64_t row, int64_t column,
                                  int64_t begin, int64_t end, const Use& use) {
    using ShareA = Share<kSize, A>;
    using ShareB = Share<kSize, B>;
    constexpr int kDepth = ShareA::kDepth, kRow = ShareA::kRow;
    __shared__ __align__(16) float a_stages[2][kDepth][kRow], b_stages[2][kDepth][kRow];
    ShareA own_a(a, row);
    ShareB own_b(b, column);
    float sums[kOwn][kOwn] = {};
    own_a.fetch(begin);
    own_b.fetch(begin);
    own_a.store(a_stages[0]);
    own_b.store(b_stages[0]);
    __syncthreads();
    const int count = static_cast<int>((end - begin + kDepth - 1) / kDepth);
    for (int tile = 0; tile < count; ++tile) {
      const bool is_last = tile + 1 == count;
      const int stage = tile % 2;
      if (!is_last) {
        own_a.fetch(begin + (tile + 1) * int64_t{kDepth});
        own_b.fetch(begin + (tile + 1) * int64_t{kDepth});
      }
      TT_UNROLL_BY(2)  // more needs more registers than two blocks have
      for (int k = 0; k < kDepth; ++k) {
        float of_a[kOwn], of_b[kOwn];
        TT_UNROLL
        for (int i = 0; i < kOwn; i += 4) {
          const auto x = *reinterpret_cast<const float4*>(&a_stages[stage][k][own_row(i)]);
          const auto y = *reinterpret_cast<const float4*>(&b_stages[stage][k][own_column(i)]);
          of_a[i] = x.x, of_a[i + 1] = x.y, of_a[i + 2] = x.z, of_a[i + 3] = x.w;
          of_b[i] = y.x, of_b[i + 1] = y.y, of_b[i + 2] = y.z, of_b[i + 3] = y.w;
        }
        TT_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          TT_UNROLL
          for (int j = 0; j < kOwn; ++j) sums[i][j] += of_a[i] * of_b[j];
        }
      }
      if (!is_last) {
        own_a.store(a_stages[1 - stage]);
        own_b.store(b_stages[1 - stage]);
      }
      __syncthreads();
    }
    if constexpr (HasRuns<Use, 4>::value) {
      if (use.template takes_runs<4>()) {
        TT_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          TT_UNROLL
          for (int j = 0; j < kOwn; j += 4) {
            const float run[4] = {sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]};
            use.put(row + own_row(i), column + own_column(j), run);
          }
        }
        return;
      }
    }
    TT_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const auto put = use(column + own_column(j));
      TT_UNROLL
      for (int i = 0; i < kOwn; ++i) put(row + own_row(i), sums[i][j]);
    }
  }
};

}  // namespace
}  // namespace tt::cuda
