// The steps of the optimisers (core/formulas/optim_steps.h) on vectors, built once per instruction
// set.
#include "cpu/optim/loop.h"

namespace tt::cpu::TT_ISA {
extern const ForeachTable foreach_table;  // foreach.cpp
extern const OptimTable optim_table = {
    steps<Sgd>(),    steps<Adam>(),    steps<Nadam>(),   steps<Radam>(),
    steps<Adamax>(), steps<Rmsprop>(), steps<Adagrad>(), steps<Adadelta>(),
    steps<Rprop>(),  steps<Asgd>(),    &foreach_table,
};
}  // namespace tt::cpu::TT_ISA
