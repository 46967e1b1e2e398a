// Chains: neighbouring launches of a program, elementwise and over lines, that run block by block.
//
// One after another they would write whole arrays and read them again from far caches, each with
// threads of its own. So each thread takes a block of a thousand elements through all of them,
// by the same kernels over parts of their arguments (link.h), while it is in the first caches. What
// only the chain uses is never in memory: it lies in a thread's own block.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/program/recording.h"

namespace tt {

class ChainStep final : public Step {
 public:
  // An operand of one of the links.
  struct Operand {
    int link, number;  // the link, and its operand
    int buffer;
    int64_t first, last;  // bytes of the buffer, [first, last)
    int64_t item;         // bytes of an element, if they lie as they are walked; or 0
    bool writes;
  };
  // Neighbouring launches, from number `first` on. Those that are no links run before.
  struct Launches {
    std::vector<Link> links;
    std::vector<Operand> operands;
    std::vector<int> of_links;     // numbers of launches
    std::vector<int> used_before;  // buffers of those that run before
    int64_t granule = 1;           // a block is a multiple of so many elements
  };

  ChainStep(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first);

  bool run() const override;
  // Of all threads: what a run needs beside the buffers.
  int64_t thread_bytes() const { return threads() * (parts_bytes_ + blocks_bytes()); }
  int first() const { return first_; }
  int last() const { return first_ + static_cast<int>(steps_.size()) - 1; }
  // Gives the threads memory for each buffer that only this chain uses, and that `may_move`;
  // answers those.
  std::vector<int> hide(const std::vector<Buffer>& buffers,
                        const std::function<bool(int buffer)>& may_move);

 private:
  // A link as threads run it.
  struct Work {
    Link link;
    void (*kernel)();
    int64_t part;               // where a thread's copy of the arguments is
    std::vector<int> place;     // of each operand in a thread's memory; or kElsewhere
    std::vector<int64_t> step;  // from block to block, bytes
  };
  static constexpr int kElsewhere = -1;

  int64_t blocks() const { return ceil_div(numel_, block_); }
  int64_t threads() const;
  int64_t blocks_bytes() const { return places_ * aligned(place_bytes_); }
  // Sets a thread's parts to the block that begins at element `first`.
  void begin(int64_t first, char* parts, char* memory) const;
  // The last block may have fewer elements.
  void cut(int64_t numel, char* parts) const;
  // Runs a block, and sets the parts to the next.
  void run_block(char* parts) const;

  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<const Step*> before_;
  std::vector<Operand> operands_;
  std::vector<int> used_before_;
  std::vector<Work> works_;
  int first_;
  int64_t numel_, block_, parts_bytes_ = 0;
  int places_ = 0;  // that a thread needs, each of as many bytes:
  int64_t place_bytes_ = 0;
};

// Puts chains in the place of launches that may run block by block: those over as many elements,
// each of which reads and writes no other elements than the others do, or other lines. The buffers'
// lives are stretched over the chain.
std::vector<ChainStep*> make_chains(std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers);

}  // namespace tt
