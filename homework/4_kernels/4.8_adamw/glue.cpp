#include "../glue.h"

#include <cstdint>

#include "core/tables/optim.h"
#include STUDENT

using Adam = decltype(tt::Steps<tt::AdamArgs>::f32);
TT_REPLACED(Adam, adam)

namespace {

void run(const tt::Chunk* chunks, int64_t count, const tt::AdamArgs& args) {
  if (args.amsgrad || args.maximize || (args.weight_decay != 0 && !args.decoupled))
    return tt_replaced_adam(chunks, count, args);
  for (int64_t i = 0; i < count; ++i) {
    const tt::Chunk& x = chunks[i];
    const auto floats = [](void* data) { return static_cast<float*>(data); };
    adamw(floats(x.param), static_cast<const float*>(x.grad), floats(x.state[0]),
          floats(x.state[1]), x.numel, args.lr, args.beta1, args.beta2, args.eps, args.weight_decay,
          x.scale[0], x.scale[1]);
  }
}

}  // namespace

TT_OVERRIDE_AS(Adam, adam, run)
