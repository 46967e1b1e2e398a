// Optimiser steps: one call updates a whole list of parameters, and each element is read and
// written once.
//
// What the caller vouches for: all arrays of a chunk have one dtype and one dense layout, so that
// they can be walked as `numel` elements in memory order; what is written (param, state) overlaps
// nothing else in the call.
#pragma once
#include <cstdint>

namespace tt::cpu {

// One parameter. `state` holds what its algorithm keeps, null where an option leaves it out:
//   SGD      momentum_buffer
//   Adam     exp_avg, exp_avg_sq, max_exp_avg_sq
//   RMSprop  square_avg, momentum_buffer, grad_avg
struct Chunk {
  void* param;
  const void* grad;
  void* state[3];
  int64_t numel;
  double step_size = 0, correction = 0;  // Adam: lr / (1 - beta1^t) and sqrt(1 - beta2^t)
};

struct SgdArgs {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

struct AdamArgs {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, decoupled, maximize;  // decoupled: AdamW
};

struct RmspropArgs {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};

struct OptimTable {
  void (*sgd_f32)(const Chunk* chunks, int64_t count, const SgdArgs& args);
  void (*sgd_f64)(const Chunk* chunks, int64_t count, const SgdArgs& args);
  void (*adam_f32)(const Chunk* chunks, int64_t count, const AdamArgs& args);
  void (*adam_f64)(const Chunk* chunks, int64_t count, const AdamArgs& args);
  void (*rmsprop_f32)(const Chunk* chunks, int64_t count, const RmspropArgs& args);
  void (*rmsprop_f64)(const Chunk* chunks, int64_t count, const RmspropArgs& args);
};

namespace v2 {
extern const OptimTable optim_table;
}
namespace v3 {
extern const OptimTable optim_table;
}
namespace v4 {
extern const OptimTable optim_table;
}
namespace base {
extern const OptimTable optim_table;
}

// The table of the instruction set that was chosen at import.
const OptimTable& optim();

}  // namespace tt::cpu
