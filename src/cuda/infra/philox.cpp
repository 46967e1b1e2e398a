#include "cuda/infra/philox.h"

#include "cuda/device/graphs.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

Draws take(Generator& generator, uint64_t count) {
  if (is_capturing(current_stream)) return draws_of_graph(generator, count);
  return {generator.take(count), nullptr};
}

}  // namespace tt::cuda
