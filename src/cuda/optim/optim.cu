// The steps of the optimisers (core/formulas/optim_steps.h): a launch of `update` (lists.h) for all
// parameters of a dtype.
#include "cuda/infra/tables.h"
#include "cuda/optim/lists.h"

namespace tt::cuda {

const OptimTable optim_table = {
    steps<Sgd>(),    steps<Adam>(),    steps<Nadam>(),   steps<Radam>(),
    steps<Adamax>(), steps<Rmsprop>(), steps<Adagrad>(), steps<Adadelta>(),
    steps<Rprop>(),  steps<Asgd>(),    &foreach_table,
};

}  // namespace tt::cuda
