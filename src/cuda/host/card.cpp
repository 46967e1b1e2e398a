#include "cuda/host/card.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "core/error.h"

namespace tt::emulated {

namespace {

std::string variable(const char* name) {
  const char* const set = std::getenv(name);
  return set ? set : "";
}

size_t most_shared() {
  const std::string set = variable("TINY_TORCH_EMULATED_SHARED");
  if (set.empty()) return 99 << 10;
  char* end;
  const unsigned long kib = std::strtoul(set.c_str(), &end, 10);
  if (*end || kib < Card::kAlways >> 10 || kib > 1024)
    throw RuntimeError("TINY_TORCH_EMULATED_SHARED=", set, " is no number of KiB from 48 on");
  return kib << 10;
}

Card::Order order() {
  const std::string set = variable("TINY_TORCH_EMULATED_ORDER");
  if (set.empty()) return Card::kForward;
  if (set == "reverse") return Card::kReverse;
  if (set == "random") return Card::kRandom;
  throw RuntimeError("TINY_TORCH_EMULATED_ORDER=", set, " is neither reverse nor random");
}

}  // namespace

const Card& Card::instance() {
  static const Card card{tt::emulated::most_shared(), tt::emulated::order()};
  return card;
}

// https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities
std::string Card::refusal(const Launch& what, size_t allowed_shared) const {
  constexpr uint64_t kThreads = 1024, kThreadsZ = 64, kBlocksX = 0x7fffffff, kBlocksYZ = 65535;
  constexpr size_t kParameterBytes = 4096;  // 32,764 with a driver and a toolkit from 12.1 on
  const auto& [x, y, z] = what.grid;
  const Extent& block = what.block;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const struct {
    const char* of;
    uint64_t value, limit;
  } all[] = {{"threads in a block", threads, kThreads},
             {"threads along z", block.z, kThreadsZ},
             {"blocks along x", static_cast<uint64_t>(x), kBlocksX},
             {"blocks along y", static_cast<uint64_t>(y), kBlocksYZ},
             {"blocks along z", static_cast<uint64_t>(z), kBlocksYZ},
             {"bytes of parameters", what.argument_bytes, kParameterBytes},
             {"bytes of shared memory", what.shared_bytes, most_shared}};
  for (const auto& [of, value, limit] : all)
    if (value > limit) return format(value, " ", of, ", where this GPU has at most ", limit);
  if (threads == 0 || x == 0 || y == 0 || z == 0) return "a grid of no threads";
  if (what.shared_bytes > allowed_shared)
    return format(what.shared_bytes, " bytes of shared memory, where cudaFuncSetAttribute has ",
                  "allowed the kernel ", allowed_shared);
  return {};
}

std::vector<uint32_t> block_order(const Card& card, uint64_t count) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  static std::minstd_rand random;  // each launch has another order, each process the same ones
  if (card.order == Card::kReverse) std::reverse(all.begin(), all.end());
  if (card.order == Card::kRandom) std::shuffle(all.begin(), all.end(), random);
  return all;
}

}  // namespace tt::emulated
