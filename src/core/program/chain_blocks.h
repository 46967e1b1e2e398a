// Chains of the CPU: a thread takes a block of a thousand elements through all links, by the same
// kernels over parts of their arguments (link.h), while it is in the first caches. What only the
// chain uses lies in a thread's own block.
#pragma once
#include "core/program/chain.h"

namespace tt {

class BlockChain final : public ChainStep {
 public:
  BlockChain(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first);

  bool run() const override;
  int64_t thread_bytes() const override { return threads() * (parts_bytes_ + blocks_bytes()); }

 private:
  // How threads run a link.
  struct Work {
    void (*kernel)();
    int64_t part;               // where a thread's copy of the arguments is
    std::vector<int> place;     // of each operand in a thread's memory; or kElsewhere
    std::vector<int64_t> step;  // from block to block, bytes
  };
  static constexpr int kElsewhere = -1;

  void place(const std::vector<Hidden>& hidden) override;
  int64_t blocks() const { return ceil_div(numel_, block_); }
  int64_t threads() const;
  int64_t blocks_bytes() const { return places_ * aligned(place_bytes_); }
  // Sets a thread's parts to the block that begins at element `first`.
  void begin(int64_t first, char* parts, char* memory) const;
  // The last block may have fewer elements.
  void cut(int64_t numel, char* parts) const;
  // Runs a block, and sets the parts to the next.
  void run_block(char* parts) const;

  std::vector<Work> works_;  // of the links
  int64_t numel_, block_, parts_bytes_ = 0;
  int places_ = 0;  // that a thread needs, each of as many bytes:
  int64_t place_bytes_ = 0;
};

class BlockChains final : public ChainMaker {
 public:
  bool takes(const ChainStep::Launches& before, const Step& step, const Link& link,
             const std::vector<ChainStep::Operand>& operands) const override;
  std::unique_ptr<ChainStep> make(std::vector<std::unique_ptr<Step>> steps,
                                  ChainStep::Launches launches, int first) const override;
};

}  // namespace tt
