// softmax and log_softmax, along lines.
#pragma once
#include "core/lines.h"

namespace tt {

// softmax: streams x, y. Its gradient: grad, y, dx.
struct SoftmaxArgs {
  Lines lines;
  bool log;
};

struct SoftmaxTable {
  void (*softmax)(const SoftmaxArgs&);
  void (*softmax_backward)(const SoftmaxArgs&);
};

}  // namespace tt
