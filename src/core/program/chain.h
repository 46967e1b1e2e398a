// Chains: neighbouring launches of a program over the same elements, which run together.
//
// One after another they would write whole arrays and read them again from far memory. As a chain,
// some elements go through all of them, and then the next: what only the chain uses is never in
// memory. On the CPU a thread takes a block of elements through the same kernels
// (chain_blocks.h), where softmax and norms may join; a GPU has one kernel for all
// (chain_kernel.h).
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/program/recording.h"

namespace tt {

class ChainStep : public Step {
 public:
  // An operand of one of the links.
  struct Operand {
    int link, number;  // the link, and its operand
    int buffer;
    int64_t first, last;  // bytes of the buffer, [first, last)
    int64_t item;         // bytes of an element, if they lie as they are walked; or 0
    bool writes;
    int64_t run, period;  // as in Link::Operand
  };
  // Neighbouring launches, from number `first` on. Those that are no links run before.
  struct Launches {
    std::vector<Link> links;
    std::vector<Operand> operands;
    std::vector<int> of_links;     // numbers of launches
    std::vector<int> used_before;  // buffers of those that run before
    int64_t granule = 1;           // a block is a multiple of so many elements
  };

  // Of all threads: what a run needs beside the buffers.
  virtual int64_t thread_bytes() const { return 0; }
  int first() const { return first_; }
  int last() const { return first_ + static_cast<int>(steps_.size()) - 1; }
  // Finds the buffers that only this chain uses, and that `may_move`: they have no memory.
  std::vector<int> hide(const std::vector<Buffer>& buffers,
                        const std::function<bool(int buffer)>& may_move);

 protected:
  struct Hidden {
    int buffer;
    int from, until;  // the link that makes it, and the last that uses it
    int64_t item;
  };

  ChainStep(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first);
  void run_before() const;
  // Is told what is hidden now, by the links that make it.
  virtual void place(const std::vector<Hidden>& hidden) = 0;

  std::vector<Link> links_;
  std::vector<const Step*> of_links_;
  std::vector<Operand> operands_;

 private:
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<const Step*> before_;
  std::vector<int> used_before_;
  int first_;
};

// How a device runs chains.
class ChainMaker {
 public:
  virtual ~ChainMaker() = default;
  // Whether a launch over as many elements, with these operands, may be the next link.
  virtual bool takes(const ChainStep::Launches& before, const Step& step, const Link& link,
                     const std::vector<ChainStep::Operand>& operands) const = 0;
  virtual std::unique_ptr<ChainStep> make(std::vector<std::unique_ptr<Step>> steps,
                                          ChainStep::Launches launches, int first) const = 0;
};
// The device's, or null.
std::unique_ptr<ChainMaker> chain_maker(const Device& device);

// Puts chains in the place of launches that may run together: those over as many elements, each of
// which reads and writes no other elements than the others do, or other lines. The buffers' lives
// are stretched over the chain.
std::vector<ChainStep*> make_chains(const ChainMaker& maker,
                                    std::vector<std::unique_ptr<Step>>& steps,
                                    const std::vector<Slot>& slots, std::vector<Buffer>& buffers);

}  // namespace tt
