#include "cuda/infra/philox.h"

namespace tt::cuda {

Generator::Philox take(Generator& generator, uint64_t count) { return generator.take(count); }

}  // namespace tt::cuda
