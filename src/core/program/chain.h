// Chains: neighbouring elementwise launches of a program that run block by block.
//
// One after another they would write whole arrays and read them again from far caches, each with
// threads of its own. So each thread takes a block of a thousand elements through all of them,
// by the same kernels over parts of their Iters, while it is in the first caches. What only the
// chain uses is never in memory: it lies in a thread's own block.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "core/devices/threads.h"
#include "core/program/recording.h"

namespace tt {

class ChainStep final : public Step {
 public:
  // An operand of one of the launches.
  struct Operand {
    int link, number;  // the launch, and its operand
    int buffer;
    int64_t first, last;  // bytes of the buffer, [first, last)
    int64_t item;         // bytes of an element, if they lie as they are walked; or 0
    bool writes() const { return number == 0; }
  };

  // Launches `first` to `last` of a recording. A block is a multiple of `granule` elements.
  ChainStep(std::vector<std::unique_ptr<Step>> launches, std::vector<Operand> operands,
            int64_t granule, int first, int last);

  bool run() const override;
  // Of all threads: what a run needs beside the buffers.
  int64_t thread_bytes() const { return threads() * (iters_bytes() + blocks_bytes()); }
  int first() const { return first_; }
  int last() const { return last_; }
  // Gives the threads memory for each buffer that only this chain uses, and that `may_move`;
  // answers those.
  std::vector<int> hide(const std::vector<Buffer>& buffers,
                        const std::function<bool(int buffer)>& may_move);

 private:
  struct Link {
    Kernel kernel;
    const Iter* iter;
    int place[Iter::kMaxOperands];     // in a thread's memory; or kElsewhere
    int64_t step[Iter::kMaxOperands];  // from block to block, bytes
  };
  static constexpr int kElsewhere = -1;

  int64_t blocks() const { return ceil_div(numel_, block_); }
  int64_t threads() const;
  // A thread's Iters, and its blocks.
  int64_t iters_bytes() const { return aligned(links_.size() * sizeof(Iter)); }
  int64_t blocks_bytes() const { return places_ * aligned(place_bytes_); }
  // Sets `parts` of the Iters to the block that begins at element `first`.
  void begin(int64_t first, Iter* parts, char* memory) const;
  // The last block may have fewer elements.
  void shorten(int64_t numel, Iter* parts) const;
  // Runs a block, and sets the parts to the next.
  void run_block(Iter* parts) const;

  std::vector<std::unique_ptr<Step>> launches_;
  std::vector<Operand> operands_;
  std::vector<Link> links_;
  int first_, last_;
  int64_t numel_, block_;
  int places_ = 0;  // that a thread needs, each of as many bytes:
  int64_t place_bytes_ = 0;
};

// Puts chains in the place of launches that may run block by block: those over as many elements,
// each of which reads and writes no other element than the others do. The buffers' lives are
// stretched over the chain.
std::vector<ChainStep*> make_chains(std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers);

}  // namespace tt
