// Products of matrices on tensor cores (mma.h): of halves, and of float32 rounded to TF32. Sums are
// float32's.
//
// A block of 8 warps computes a tile of kSize x kSize: 2 x 4 warps, each a part of it as 16 x 8
// fragments. Tiles of A and B go from global to shared memory by copy_async, kStages - 1 of them
// ahead of the one that is being multiplied, so that no warp waits for memory. In shared memory a
// tile lies as it does in global memory, by lines where they run along the depth or else by the
// depth; load_matrices, or load_transposed, makes fragments of it either way. Rows are 16 bytes
// longer than what they hold, with which the 8 that a warp reads at once are in different banks.
#pragma once
#include "cuda/infra/block.h"
#include "cuda/infra/factors.h"
#include "cuda/infra/mma.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

// The tile of a factor in a stage: kLines lines of kDepth elements.
template <class T, int kLines, bool kDeep>
struct Tile {
  static constexpr bool kIsDeep = kDeep;
  static constexpr int kDepth = 64 / sizeof(T);
  static constexpr int kPad = kDeep ? 16 / sizeof(T) : 8;
  static constexpr int kRow = (kDeep ? kDepth : kLines) + kPad;
  static constexpr int kElements = kRow * (kDeep ? kLines : kDepth);

  __device__ static int at(int line, int k) { return kDeep ? line * kRow + k : k * kRow + line; }
};

// Copies tiles of a factor, from a line on: by chunks where it has such, else by elements.
template <class T, int kLines, bool kDeep, class Factor>
class TileCopy {
 public:
  using Place = Tile<T, kLines, kDeep>;

  __device__ TileCopy(const Factor& factor, int64_t first_line) : factor_(factor) {
    TT_UNROLL
    for (int i = 0; i < kKept; ++i)
      lines_[i] = factor.line(first_line + (factor.has_chunks ? chunk_line(i) : element_line()));
  }
  __device__ void start(T* tile, int64_t first) const {
    if (factor_.has_chunks) {
      TT_UNROLL
      for (int i = 0; i < kChunks; ++i) {
        const Chunk<T> from = factor_.chunk(lines_[kDeep ? i : 0], first + chunk_k(i));
        copy_async(tile + Place::at(chunk_line(i), chunk_k(i)), from.data,
                   from.count * static_cast<int>(sizeof(T)));
      }
    } else {
      constexpr int kStep = kThreads / kLines;
      const int line = element_line(), k = threadIdx.x / kLines;
      TT_UNROLL
      for (int i = 0; i < Place::kDepth; i += kStep)
        tile[Place::at(line, k + i)] = factor_.element(lines_[0], first + k + i);
    }
  }

 private:
  static constexpr int kChunks = kLines * Place::kDepth / kChunk<T> / kThreads;  // of a thread
  static constexpr int kKept = kDeep ? kChunks : 1;
  static constexpr int kInRow = (kDeep ? Place::kDepth : kLines) / kChunk<T>;

  __device__ static int chunk_line(int i) {
    const int chunk = threadIdx.x + i * kThreads;
    return kDeep ? chunk / kInRow : chunk % kInRow * kChunk<T>;
  }
  __device__ static int chunk_k(int i) {
    const int chunk = threadIdx.x + i * kThreads;
    return kDeep ? chunk % kInRow * kChunk<T> : chunk / kInRow;
  }
  __device__ static int element_line() { return threadIdx.x % kLines; }

  const Factor& factor_;
  typename Factor::Line lines_[kKept];
};

// Four fragments of 8 lines and 16 bytes of the depth: of lines `line` and `line` + 8, and of the
// first and second half of the depth of an mma; bit kLineBit of a fragment's number is its line's.
template <class T, int kLineBit, class Place>
__device__ void load_fragments(unsigned (&words)[4], const T* tile, int line, int k) {
  constexpr int kDepthBit = 1 - kLineBit, kHalf = 16 / sizeof(T);
  const int lane = threadIdx.x % 32;
  if constexpr (sizeof(T) == 4) {
    TT_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int at_line = line + lane / 4 + (r >> kLineBit & 1) * 8;
      words[r] = tf32_of(tile[Place::at(at_line, k + lane % 4 + (r >> kDepthBit & 1) * kHalf)]);
    }
  } else {
    const int row = lane % 8, matrix = lane / 8;
    line += (matrix >> kLineBit & 1) * 8;
    k += (matrix >> kDepthBit & 1) * kHalf;
    if constexpr (Place::kIsDeep)
      load_matrices(words, tile + Place::at(line + row, k));
    else
      load_transposed(words, tile + Place::at(line, k + row));
  }
}

template <class T, int kSize, bool kADeep, bool kBDeep>
struct TensorTile {
  using PlaceA = Tile<T, kSize, kADeep>;
  using PlaceB = Tile<T, kSize, kBDeep>;
  static constexpr int kDepth = PlaceA::kDepth, kMmaDepth = 32 / sizeof(T), kStages = 4;
  static constexpr int kStage = PlaceA::kElements + PlaceB::kElements;
  static constexpr size_t kSharedBytes = kStages * kStage * sizeof(T);
  static constexpr int kRows = kSize / 2, kColumns = kSize / 4;  // of a warp

  // As BlockedTile's.
  template <class A, class B, class Use>
  __device__ static void multiply(const A& a, const B& b, int64_t row, int64_t column,
                                  int64_t begin, int64_t end, const Use& use) {
    const TileCopy<T, kSize, kADeep, A> copy_a(a, row);
    const TileCopy<T, kSize, kBDeep, B> copy_b(b, column);
    T* const stages = dynamic_shared<T>();
    const int count = static_cast<int>((end - begin + kDepth - 1) / kDepth);
    const auto start = [&](int tile) {
      if (tile < count) {
        T* const stage = stages + tile % kStages * kStage;
        copy_a.start(stage, begin + int64_t{tile} * kDepth);
        copy_b.start(stage + PlaceA::kElements, begin + int64_t{tile} * kDepth);
      }
      commit_copies();  // also of nothing: waiting counts groups
    };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 4 * kRows, warp_column = warp % 4 * kColumns;
    float sums[kRows / 16][kColumns / 8][4] = {};
    for (int tile = 0; tile < kStages - 1; ++tile) start(tile);
    for (int tile = 0; tile < count; ++tile) {
      wait_for_copies<kStages - 2>();
      __syncthreads();  // all have copied this stage, and have done with the one before
      start(tile + kStages - 1);
      const T* const stage = stages + tile % kStages * kStage;
      TT_UNROLL
      for (int k = 0; k < kDepth; k += kMmaDepth) {
        unsigned rows[kRows / 16][4], columns[kColumns / 16][4];
        TT_UNROLL
        for (int i = 0; i < kRows / 16; ++i)
          load_fragments<T, 0, PlaceA>(rows[i], stage, warp_row + i * 16, k);
        TT_UNROLL
        for (int j = 0; j < kColumns / 16; ++j)
          load_fragments<T, 1, PlaceB>(columns[j], stage + PlaceA::kElements, warp_column + j * 16,
                                       k);
        TT_UNROLL
        for (int i = 0; i < kRows / 16; ++i) {
          TT_UNROLL
          for (int j = 0; j < kColumns / 8; ++j) {
            const unsigned words[2] = {columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]};
            mma<T>(sums[i][j], rows[i], words);
          }
        }
      }
    }
    if constexpr (HasRuns<Use, 2>::value) {
      if (use.template takes_runs<2>()) {
        TT_UNROLL
        for (int i = 0; i < kRows / 8; ++i) {
          TT_UNROLL
          for (int j = 0; j < kColumns / 8; ++j) {
            const float (&all)[4] = sums[i / 2][j];
            const float run[2] = {all[i % 2 * 2], all[i % 2 * 2 + 1]};
            use.put(row + warp_row + i * 8 + lane / 4, column + warp_column + j * 8 + lane % 4 * 2,
                    run);
          }
        }
        return;
      }
    }
    TT_UNROLL
    for (int j = 0; j < kColumns / 4; ++j) {
      const auto put = use(column + warp_column + j / 2 * 8 + lane % 4 * 2 + j % 2);
      TT_UNROLL
      for (int i = 0; i < kRows / 8; ++i)
        put(row + warp_row + i * 8 + lane / 4, sums[i / 2][j / 2][i % 2 * 2 + j % 2]);
    }
  }
};

}  // namespace
}  // namespace tt::cuda
