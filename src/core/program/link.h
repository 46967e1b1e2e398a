// Links: launches that may run together, and what a chain knows of them.
//
// On the CPU they run block by block. A block is some neighbouring elements of an elementwise
// launch, or some lines of softmax and layer norm, which depend on nothing but those. A thread that
// runs blocks has a copy of the arguments, a part, and sets its pointers and its number of
// elements.
#pragma once
#include <numeric>
#include <vector>

#include "core/iter.h"
#include "core/tables/layer_norm.h"
#include "core/tables/softmax.h"

namespace tt {

struct Link {
  struct Operand {
    char** where;    // its pointer in the arguments
    int64_t stride;  // from granule to granule, bytes
    int64_t reach;   // from its first byte to behind its last
    int64_t item;    // bytes of an element, if they lie as they are walked; or 0
    bool writes;
    // It is some of the runs of `run` bytes that begin each `period` bytes, if that is not 0.
    int64_t run = 0, period = 0;
  };

  std::vector<Operand> operands;   // none: the launch is no link
  int64_t numel = 0, granule = 1;  // a block is a multiple of `granule` elements
  bool elementwise = false;        // or it reads other elements of its line, too
  const void* args = nullptr;
  int64_t bytes = 0;  // of them
  void (*cut)(void* part, int64_t numel) = nullptr;
  void (*call)(void (*kernel)(), const void* part) = nullptr;

  char** pointer(void* part, const Operand& x) const {
    const auto at = reinterpret_cast<const char*>(x.where) - static_cast<const char*>(args);
    return reinterpret_cast<char**>(static_cast<char*>(part) + at);
  }
};

template <class Args>
void call_with_part(void (*kernel)(), const void* part) {
  reinterpret_cast<void (*)(const Args&)>(kernel)(*static_cast<const Args*>(part));
}

// Blocks are cut along the outermost dim.
inline Link link_of(Iter& x) {
  Link link;
  if (x.numel == 0 || x.ndim == 0) return link;
  const int outer = x.ndim - 1;
  link.numel = x.numel;
  link.granule = x.numel / x.shape[outer];
  link.elementwise = true;
  for (int k = 0; k < x.count; ++k) {
    Iter::Entry& entry = x.operands[k];
    const int64_t item = itemsize(entry.dtype);
    int64_t reach = item, run = item, period = 0;
    for (int d = 0; d < x.ndim; ++d) {
      const int64_t size = x.shape[d], step = entry.strides[d];
      reach += (size - 1) * step;
      if (period == 0 && step == run)
        run *= size;
      else if (size > 1)
        period = std::gcd(period, step);
    }
    const int64_t in_order = run == x.numel * item ? item : 0;
    link.operands.push_back(
        {&entry.data, entry.strides[outer], reach, in_order, k == 0, run, period});
  }
  link.cut = [](void* part, int64_t numel) {
    Iter& x = *static_cast<Iter*>(part);
    x.shape[x.ndim - 1] = numel / (x.numel / x.shape[x.ndim - 1]);
    x.numel = numel;
  };
  link.call = call_with_part<Iter>;
  return link;
}

// Lines that stand one behind the other in all streams: a granule is one of them. Longer ones stay
// in the first cache no better than whole arrays.
template <class Args>
Link link_of_lines(Args& args) {
  constexpr int64_t kLongest = 4096;
  Link link;
  Lines& lines = args.lines;
  if (lines.shape.size() != 1 || lines.size > kLongest) return link;
  for (int s = 0; s < lines.streams; ++s) {
    LineStream& stream = lines.stream[s];
    const int64_t item = itemsize(stream.dtype), length = lines.size * item;
    if (stream.step != item || stream.strides[0] != length) return {};
    link.operands.push_back(
        {&stream.data, length, lines.count * length, item, s == lines.streams - 1});
  }
  link.numel = lines.count * lines.size;
  link.granule = lines.size;
  link.cut = [](void* part, int64_t numel) {
    Lines& lines = static_cast<Args*>(part)->lines;
    lines.shape[0] = lines.count = numel / lines.size;
  };
  link.call = call_with_part<Args>;
  return link;
}

inline Link link_of(SoftmaxArgs& x) { return link_of_lines(x); }

// Forward alone: the gradients of weight and bias are sums over lines.
inline Link link_of(LayerNormArgs& x) {
  if (x.lines.streams != 2) return {};
  Link link = link_of_lines(x);
  if (link.operands.empty()) return link;
  const int64_t item = itemsize(x.lines.compute), stats = 3 * item;
  link.operands.push_back({&x.stats, stats, x.lines.count * stats, 0, true});
  for (const char** each : {&x.weight, &x.bias})
    if (*each)
      link.operands.push_back({const_cast<char**>(each), 0, x.lines.size * item, 0, false});
  return link;
}

}  // namespace tt
