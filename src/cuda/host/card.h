// What the GPU that the emulator stands for allows a launch, and in which order it runs blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/host/emulator.h"

namespace tt::emulated {

struct Card {
  // Shared memory of a block, in bytes: what each kernel may have, and what one that asked by
  // cudaFuncSetAttribute may. 99 KiB are the least of the GPUs from Ampere on (8.6, 8.9, 12.0);
  // TINY_TORCH_EMULATED_SHARED is another number of KiB (163 on 8.0, 227 on 9.0).
  static constexpr size_t kAlways = 48 << 10;
  size_t most_shared;

  // A GPU runs blocks in any order. TINY_TORCH_EMULATED_ORDER: reverse or random; else in order.
  enum Order { kForward, kReverse, kRandom } order;

  static const Card& instance();

  // Why this GPU would not start the kernel, which was allowed so much shared memory; or "".
  std::string refusal(const Launch& what, size_t allowed_shared) const;
};

// The numbers of a grid's blocks, in the order in which they run.
std::vector<uint32_t> block_order(const Card& card, uint64_t count);

}  // namespace tt::emulated
