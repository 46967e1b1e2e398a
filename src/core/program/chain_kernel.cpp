#include "core/program/chain_kernel.h"

#include <algorithm>

#include "core/devices/device.h"
#include "core/dtypes/converted.h"
#include "core/dtypes/with_type.h"
#include "core/tables/cast.h"
#include "core/tables/elementwise.h"

namespace tt {

namespace {

using Use = ChainStep::Operand;

const Iter& iter_of(const Link& link) { return *static_cast<const Iter*>(link.args); }

// Whether two operands that lie as they are walked are the same elements.
bool is_same(const Use& a, const Use& b) {
  return a.buffer == b.buffer && a.first == b.first && a.item == b.item && a.item != 0;
}

// The operand's dims, merged where it alone allows that. False: they are too many.
bool set_dims(ChainArgs::Array& array, const Iter& iter, int operand) {
  array.ndim = 0;
  for (int d = 0; d < iter.ndim; ++d) {
    const int64_t size = iter.shape[d], stride = iter.operands[operand].strides[d];
    const int last = array.ndim - 1;
    if (size == 1) continue;
    if (last >= 0 && stride == array.strides[last] * array.shape[last]) {
      array.shape[last] *= static_cast<uint32_t>(size);
      continue;
    }
    if (array.ndim == ChainArgs::kMostDims) return false;
    array.shape[array.ndim] = static_cast<uint32_t>(size);
    array.strides[array.ndim++] = stride;
  }
  if (array.ndim > 0) return true;
  array.ndim = array.shape[0] = 1;
  array.strides[0] = 0;
  return true;
}

float float_of(const Iter& iter, int operand) {
  float number = 0;
  with_type(iter.compute, [&](auto type) {
    number = converted<float>(read<decltype(type)>(iter.operands[operand].data));
  });
  return number;
}

bool is_number(const Iter& iter, int operand) {
  return is_within(iter, iter.operands[operand].data);
}

// Whether all arrays are of dtypes and dims that chains have.
bool has_known_arrays(const Iter& iter) {
  for (int k = 0; k < iter.count; ++k) {
    ChainArgs::Array array;
    if (is_number(iter, k)) continue;
    if (!is_of_chains(iter.operands[k].dtype) || !set_dims(array, iter, k)) return false;
  }
  return true;
}

// Whether a copy is as good by way of a float. One of a half to itself keeps the bits of a NaN.
bool copies_by_float(const Iter& iter) {
  const DType to = iter.operands[0].dtype, from = iter.operands[1].dtype;
  if (to != iter.result || !is_of_chains(iter.compute)) return false;
  return is_number(iter, 1) || (from == iter.compute && !(is_half(from) && from == to));
}

}  // namespace

bool KernelChains::has(const Device& device) {
  const ElementwiseTable* const table = device.backend ? device.backend->elementwise : nullptr;
  return table && table->chain;
}

KernelChains::KernelChains(const Backend& backend) : backend_(backend) {
  const ElementwiseTable& table = *backend.elementwise;
  constexpr int kFloat = static_cast<int>(DType::Float32);
  const auto add = [&](Kernel kernel, ChainOp op) {
    ops_[reinterpret_cast<void (*)()>(kernel)] = op;
  };
  add(backend.cast->copy, ChainOp::copy);
  add(table.where[kFloat], ChainOp::where);
#define TT_ADD(kinds, Kind, name) \
  add(table.kinds[static_cast<int>(Kind::name)][kFloat], ChainOp::name);
#define X(name) TT_ADD(unary, Unary, name)
  TT_CHAIN_UNARY(X)
#undef X
#define X(name) TT_ADD(binary, Binary, name)
  TT_CHAIN_BINARY(X)
#undef X
#define X(name) TT_ADD(ternary, Ternary, name)
  TT_CHAIN_TERNARY(X)
#undef X
#undef TT_ADD
}

bool KernelChains::takes(const ChainStep::Launches& before, const Step& step, const Link& link,
                         const std::vector<Use>& operands) const {
  const auto op = ops_.find(step.address());
  if (!link.elementwise || op == ops_.end() || before.links.size() == ChainArgs::kMostOps)
    return false;
  const Iter& iter = iter_of(link);
  if (iter.numel > ChainArgs::kMostElements || !has_known_arrays(iter)) return false;
  if (op->second == ChainOp::copy && !copies_by_float(iter)) return false;
  size_t entries = link.operands.size();
  for (const Link& each : before.links) entries += each.operands.size();
  std::vector<Use> all = before.operands;
  all.insert(all.end(), operands.begin(), operands.end());
  if (entries - all.size() > ChainArgs::kMostNumbers) return false;
  const auto dtype_of = [&](const Use& x) {
    const bool is_new = x.link == static_cast<int>(before.links.size());
    return iter_of(is_new ? link : before.links[x.link]).operands[x.number].dtype;
  };
  int arrays = 0;
  for (auto x = all.begin(); x != all.end(); ++x) {
    const auto same = std::find_if(all.begin(), x, [&](const Use& y) { return is_same(*x, y); });
    arrays += same == x;
    if (dtype_of(*same) != dtype_of(*x)) return false;  // a view as another dtype
  }
  return arrays <= ChainArgs::kMostArrays;
}

std::unique_ptr<ChainStep> KernelChains::make(std::vector<std::unique_ptr<Step>> steps,
                                              ChainStep::Launches launches, int first) const {
  std::vector<ChainOp> codes;
  for (int number : launches.of_links) codes.push_back(ops_.at(steps[number - first]->address()));
  return std::make_unique<KernelChain>(std::move(steps), std::move(launches), first,
                                       std::move(codes), backend_.elementwise->chain);
}

KernelChain::KernelChain(std::vector<std::unique_ptr<Step>> steps, Launches launches, int first,
                         std::vector<ChainOp> codes, Kernel kernel)
    : ChainStep(std::move(steps), std::move(launches), first),
      codes_(std::move(codes)),
      kernel_(kernel) {}

bool KernelChain::run() const {
  run_before();
  ChainArgs args = args_;
  for (int i = 0; i < args.arrays; ++i)
    args.array[i].data = *links_[arrays_[i]->link].operands[arrays_[i]->number].where;
  for (int i = 0; i < args.numbers; ++i)  // which may be others in each run
    args.number[i] = float_of(iter_of(links_[numbers_[i].first]), numbers_[i].second);
  kernel_(args);
  return true;
}

void KernelChain::place(const std::vector<Hidden>& hidden) {
  args_ = {};
  arrays_.clear();
  numbers_.clear();
  args_.numel = static_cast<uint32_t>(links_[0].numel);
  std::vector<Node> all = nodes(hidden);
  choose_slots(all);
  for (const Node& node : all) args_.op[args_.ops++] = node.op;
}

std::vector<KernelChain::Node> KernelChain::nodes(const std::vector<Hidden>& hidden) {
  std::vector<Node> all;
  std::vector<std::pair<const Use*, int>> values;  // what is known, the newest last
  const auto value_of = [&](const Use& x) {
    const auto found = std::find_if(values.rbegin(), values.rend(),
                                    [&](const auto& known) { return is_same(*known.first, x); });
    return found == values.rend() ? ChainArgs::kNone : found->second;
  };
  const auto add = [&](const Node& node, const Use& x) {
    values.emplace_back(&x, static_cast<int>(all.size()));
    all.push_back(node);
  };
  const auto is_hidden = [&](int buffer) {
    return std::any_of(hidden.begin(), hidden.end(),
                       [&](const Hidden& each) { return each.buffer == buffer; });
  };
  constexpr int kNone = ChainArgs::kNone;
  const int links = static_cast<int>(links_.size());
  for (int link = 0; link < links; ++link) {
    const Iter& iter = iter_of(links_[link]);
    Node node{{codes_[link], iter.operands[0].dtype, uint8_t(iter.count - 1), {}, kNone, kNone},
              {kNone, kNone, kNone}};
    for (int k = 1; k < iter.count; ++k) {
      ChainArgs::Source& input = node.op.input[k - 1];
      const Use* const x = operand_of(link, k);
      if (!x) {
        input = {ChainArgs::From::kNumber, uint8_t(args_.numbers)};
        numbers_.emplace_back(link, k);
        ++args_.numbers;
        continue;
      }
      int& value = node.value[k - 1];
      value = value_of(*x);
      if (value != kNone) continue;
      const ChainArgs::Source array{ChainArgs::From::kArray, uint8_t(array_of(*x))};
      const bool has_room = static_cast<int>(all.size()) + links - link < ChainArgs::kMostOps;
      if (has_room && is_read_again(*x)) {
        value = static_cast<int>(all.size());
        add({{ChainOp::copy, DType::Float32, 1, {array}, kNone, kNone}, {kNone, kNone, kNone}}, *x);
      } else {
        input = array;
      }
    }
    const Use& out = *operand_of(link, 0);
    if (!is_hidden(out.buffer) && !is_written_again(out))
      node.op.array = static_cast<int8_t>(array_of(out));
    add(node, out);
  }
  return all;
}

void KernelChain::choose_slots(std::vector<Node>& nodes) {
  const int count = static_cast<int>(nodes.size());
  std::vector<int> until(count, 0), is_free;  // the last op that reads a value; that a slot's
  std::vector<bool> is_kept(count, false);
  for (int i = 0; i < count; ++i)
    for (int value : nodes[i].value) {
      if (value == ChainArgs::kNone) continue;
      until[value] = i;
      if (value != i - 1) is_kept[value] = true;
    }
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < ChainArgs::kMostInputs; ++k) {
      const int value = nodes[i].value[k];
      if (value == ChainArgs::kNone) continue;
      nodes[i].op.input[k] =
          value == i - 1 ? ChainArgs::Source{ChainArgs::From::kLast, 0}
                         : ChainArgs::Source{ChainArgs::From::kSlot, uint8_t(nodes[value].op.slot)};
    }
    if (!is_kept[i]) continue;
    // An op reads before it writes.
    const auto slot =
        std::find_if(is_free.begin(), is_free.end(), [&](int last) { return last <= i; });
    nodes[i].op.slot = static_cast<int8_t>(slot - is_free.begin());
    if (slot == is_free.end())
      is_free.push_back(until[i]);
    else
      *slot = until[i];
  }
  args_.slots = static_cast<int>(is_free.size());
}

const Use* KernelChain::operand_of(int link, int number) const {
  const auto found = std::find_if(operands_.begin(), operands_.end(), [&](const Use& x) {
    return x.link == link && x.number == number;
  });
  return found == operands_.end() ? nullptr : &*found;
}

bool KernelChain::is_read_again(const Use& x) const {
  int end = static_cast<int>(links_.size());  // the link that writes it next, when it has read it
  for (const Use& y : operands_)
    if (y.writes && y.link >= x.link && is_same(x, y)) end = std::min(end, y.link);
  return std::any_of(operands_.begin(), operands_.end(), [&](const Use& y) {
    const bool is_behind = y.link > x.link || (y.link == x.link && y.number > x.number);
    return !y.writes && is_behind && y.link <= end && is_same(x, y);
  });
}

bool KernelChain::is_written_again(const Use& x) const {
  return std::any_of(operands_.begin(), operands_.end(),
                     [&](const Use& y) { return y.writes && y.link > x.link && is_same(x, y); });
}

int KernelChain::array_of(const Use& x) {
  const auto found = std::find_if(arrays_.begin(), arrays_.end(),
                                  [&](const Use* y) { return y == &x || is_same(x, *y); });
  const int number = static_cast<int>(found - arrays_.begin());
  if (found != arrays_.end()) return number;
  arrays_.push_back(&x);
  ChainArgs::Array& array = args_.array[args_.arrays++];
  array.dtype = iter_of(links_[x.link]).operands[x.number].dtype;
  set_dims(array, iter_of(links_[x.link]), x.number);
  return number;
}

}  // namespace tt
