// Which kernel computes a product of matrices, and in what parts: by the sizes alone. Float64 and
// integers have no large tiles, and take kSimple for kTiles (matmul.cu).
#pragma once
#include "core/dims.h"
#include "cuda/infra/block.h"
#include "cuda/infra/factors.h"

namespace tt::cuda {
namespace {

// As many blocks as keep a large GPU busy. A constant, so that the order of sums, and with it each
// bit, is the same on every device.
constexpr int64_t kBusy = 128;

// C (m, n) = A (m, k) @ B (k, n), `items` times:
//
//   few elements, long sums        a block per element                          (kElements)
//   less than half a tile of 64    tiles of 16, a thread per element            (kSimple)
//   else                           tiles of 128 if these keep the GPU busy, or of 64; and if those
//                                  do not, the depth k is split into parts of 128 or more, the
//                                  sums of which are added afterwards           (kTiles)
struct Plan {
  enum Kernel { kElements, kSimple, kTiles } kernel;
  int size;
  int64_t splits, split_depth;

  Plan(int64_t m, int64_t n, int64_t k, int64_t items)
      : kernel(kTiles), size(64), splits(1), split_depth(k) {
    constexpr int64_t kFew = 256, kLong = 4 * kThreads, kShortest = 128;
    const auto tiles = [&](int64_t of) { return items * ceil_div(m, of) * ceil_div(n, of); };
    if (items * m * n <= kFew && k >= kLong) {
      kernel = kElements;
    } else if (m < 32 || n < 32 || k < 8) {
      kernel = kSimple;
    } else if (m > 64 && n > 64 && tiles(128) >= kBusy) {
      size = 128;
    } else if (tiles(64) < kBusy && k >= 2 * kShortest) {
      const int64_t wanted = at_most(kBusy / tiles(64), k / kShortest);
      split_depth = ceil_div(k, wanted * 64) * 64;  // whole tiles of the depth
      splits = ceil_div(k, split_depth);
    }
  }
};

}  // namespace
}  // namespace tt::cuda
