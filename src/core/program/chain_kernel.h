// Chains of a device that has one kernel for them (ElementwiseTable::chain): its threads take each
// element through all ops. What only the chain uses has no memory but the thread's own.
#pragma once
#include <map>

#include "core/program/chain.h"
#include "core/program/chain_args.h"

namespace tt {

class KernelChain final : public ChainStep {
 public:
  using Kernel = void (*)(const ChainArgs& args);

  // `codes` are those of the links.
  KernelChain(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first,
              std::vector<ChainOp> codes, Kernel kernel);

  bool run() const override;

 private:
  // An op, and what it reads: its value is known by its number.
  struct Node {
    ChainArgs::Op op;
    int value[ChainArgs::kMostInputs];  // or kNone: op.input says it
  };

  void place(const std::vector<Hidden>& hidden) override;
  // Links as ops in order, of which the first to read an array that is read again stores it.
  std::vector<Node> nodes(const std::vector<Hidden>& hidden);
  // Where the values are that do not go from an op to the next alone.
  void choose_slots(std::vector<Node>& nodes);
  // The link's operand, which is null where that is a number.
  const Operand* operand_of(int link, int number) const;
  // Whether one behind operand x uses what is there: reads it before it is written, or writes it.
  bool is_read_again(const Operand& x) const;
  bool is_written_again(const Operand& x) const;
  int array_of(const Operand& x);

  const std::vector<ChainOp> codes_;
  const Kernel kernel_;
  ChainArgs args_;
  std::vector<const Operand*> arrays_;        // of args_
  std::vector<std::pair<int, int>> numbers_;  // of args_: link, and its operand
};

class KernelChains final : public ChainMaker {
 public:
  static bool has(const Device& device);
  explicit KernelChains(const Backend& backend);
  bool takes(const ChainStep::Launches& before, const Step& step, const Link& link,
             const std::vector<ChainStep::Operand>& operands) const override;
  std::unique_ptr<ChainStep> make(std::vector<std::unique_ptr<Step>> steps,
                                  ChainStep::Launches launches, int first) const override;

 private:
  const Backend& backend_;
  std::map<void (*)(), ChainOp> ops_;  // by the kernels that compute them
};

}  // namespace tt
