// Optimiser steps: one call updates a whole list of parameters, and each element is read and
// written once.
//
// What the caller vouches for: all arrays of a chunk have one dtype and one dense layout, so that
// they can be walked as `numel` elements in memory order; what is written (param, state) overlaps
// nothing else in the call.
#pragma once
#include <cstdint>

namespace tt {

// One parameter. `state` holds what its algorithm keeps, null where an option leaves it out;
// `scale` are numbers that depend on the parameter's own count of steps t:
//            state                                  scale
//   SGD      momentum_buffer
//   Adam     exp_avg, exp_avg_sq, max_exp_avg_sq    lr / (1 - beta1^t), sqrt(1 - beta2^t)
//   NAdam    exp_avg, exp_avg_sq                    of grad, of exp_avg, 1 - beta2^t
//   RAdam    exp_avg, exp_avg_sq                    1 - beta1^t, sqrt(1 - beta2^t), rectifier
//   Adamax   exp_avg, exp_inf                       lr / (1 - beta1^t)
//   RMSprop  square_avg, momentum_buffer, grad_avg
//   Adagrad  sum                                    decayed lr
//   Adadelta square_avg, acc_delta
//   Rprop    prev, step_size
//   ASGD     ax                                     1 - lambd * eta, eta, mu
struct Chunk {
  void* param;
  const void* grad;
  void* state[3];
  int64_t numel;
  double scale[3];
};

struct SgdArgs {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

struct AdamArgs {  // of NAdam and RAdam too
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, decoupled, maximize;  // decoupled: the weight decay of AdamW
};

struct AdamaxArgs {
  double beta1, beta2, eps, weight_decay;
  bool maximize;
};

struct RmspropArgs {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};

struct AdagradArgs {
  double eps, weight_decay;
  bool maximize;
};

struct AdadeltaArgs {
  double lr, rho, eps, weight_decay;
  bool maximize;
};

struct RpropArgs {
  double eta_minus, eta_plus, smallest, largest;
  bool maximize;
};

struct AsgdArgs {
  double weight_decay;
  bool maximize;
};

// One algorithm: a function for parameters in float32, and one for those in float64.
template <class Args>
struct Steps {
  void (*f32)(const Chunk* chunks, int64_t count, const Args& args);
  void (*f64)(const Chunk* chunks, int64_t count, const Args& args);
};

// Beside the optimisers: lists of arrays scaled, clamped, averaged with others, and their norms.
// `param` is what is written.
struct ScaleArgs {
  double factor;
  const void* factor_there;  // where not null, the factor: a number that the device has
  bool single;               // as float, else double
  float* found;              // where not null, 1 is written there if an element is inf or NaN
};
struct ClampArgs {
  double low, high;
};
struct LerpArgs {  // param moves towards grad by the share `weight`
  double weight;
};

// Norms are summed in blocks of at most this many elements, of one array each.
constexpr int64_t kNormBlock = 4096;
struct NormBlock {
  const void* data;
  int64_t n;
};
enum class NormPower { One, Two, Infinity };
struct NormsArgs {
  const NormBlock* blocks;
  const int64_t* ends;  // of each array's blocks
  int64_t count;        // of arrays
  NormPower power;
  bool single;  // float32, else float64
  void* out;    // `count` norms, of the device's memory
};

struct ForeachTable {
  Steps<ScaleArgs> scale;
  Steps<ClampArgs> clamp;
  Steps<LerpArgs> lerp;
  void (*norms)(const NormsArgs& args);
};

struct OptimTable {
  Steps<SgdArgs> sgd;
  Steps<AdamArgs> adam;
  Steps<AdamArgs> nadam;
  Steps<AdamArgs> radam;
  Steps<AdamaxArgs> adamax;
  Steps<RmspropArgs> rmsprop;
  Steps<AdagradArgs> adagrad;
  Steps<AdadeltaArgs> adadelta;
  Steps<RpropArgs> rprop;
  Steps<AsgdArgs> asgd;
  const ForeachTable* foreach;
};

}  // namespace tt
